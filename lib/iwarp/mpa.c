// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * MPA protocol elements, freestanding. See mpa.h.
 */
#include "mpa.h"

#define MPA_F_MARKERS	0x80
#define MPA_F_CRC	0x40
#define MPA_F_REJECT	0x20
#define MPA_F_ENHANCED	0x10

#define MPA_E_P2P	0x8000	/* A, first word */
#define MPA_E_SEND	0x4000	/* B, first word */
#define MPA_E_WRITE	0x8000	/* C, second word */
#define MPA_E_READ	0x4000	/* D, second word */
#define MPA_E_MASK	0x3fff

static const u8 mpa_key_req[MPA_KEY_LEN] = {
	'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R',
	'e', 'q', ' ', 'F', 'r', 'a', 'm', 'e',
};

static const u8 mpa_key_rep[MPA_KEY_LEN] = {
	'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R',
	'e', 'p', ' ', 'F', 'r', 'a', 'm', 'e',
};

static void mpa_parse_enhanced(const u8 *p, struct mpa_start *s)
{
	u16 ird = proto_get16(p);
	u16 ord = proto_get16(p + 2);

	s->enhanced = true;
	s->ird = ird & MPA_E_MASK;
	s->ord = ord & MPA_E_MASK;
	s->p2p = ird & MPA_E_P2P;
	if (!s->p2p)
		return;
	s->rtr_send = ird & MPA_E_SEND;
	s->rtr_write = ord & MPA_E_WRITE;
	s->rtr_read = ord & MPA_E_READ;
}

int mpa_start_parse(const u8 *buf, size_t len, bool reply,
		    struct mpa_start *s)
{
	const u8 *key = reply ? mpa_key_rep : mpa_key_req;
	size_t head = len < MPA_KEY_LEN ? len : MPA_KEY_LEN;
	u16 pd_len;

	memset(s, 0, sizeof(*s));
	if (memcmp(buf, key, head))
		return MPA_START_BAD_KEY;
	if (len < MPA_HDR_LEN)
		return MPA_START_MORE;

	s->rev = buf[17];
	if (s->rev != MPA_REV_1 && s->rev != MPA_REV_2)
		return MPA_START_BAD_REV;
	pd_len = proto_get16(buf + 18);
	if (pd_len > MPA_PD_MAX)
		return MPA_START_BAD_LEN;

	s->markers = buf[16] & MPA_F_MARKERS;
	s->code = buf[16] & MPA_CODE_MASK;
	s->crc = buf[16] & MPA_F_CRC;
	s->reject = reply && (buf[16] & MPA_F_REJECT);
	s->pd_off = MPA_HDR_LEN;
	s->pd_len = pd_len;
	if (s->rev >= MPA_REV_2 && (buf[16] & MPA_F_ENHANCED)) {
		if (pd_len < MPA_ENH_LEN)
			return MPA_START_BAD_LEN;
		s->pd_off += MPA_ENH_LEN;
		s->pd_len -= MPA_ENH_LEN;
	}
	if (len < MPA_HDR_LEN + (size_t)pd_len)
		return MPA_START_MORE;
	if (s->pd_off > MPA_HDR_LEN)
		mpa_parse_enhanced(buf + MPA_HDR_LEN, s);
	return MPA_HDR_LEN + pd_len;
}
EXPORT_SYMBOL_GPL(mpa_start_parse);

static void mpa_build_enhanced(u8 *p, const struct mpa_start *s)
{
	u16 ird = s->ird & MPA_E_MASK;
	u16 ord = s->ord & MPA_E_MASK;

	if (s->p2p) {
		ird |= MPA_E_P2P;
		ird |= s->rtr_send ? MPA_E_SEND : 0;
		ord |= s->rtr_write ? MPA_E_WRITE : 0;
		ord |= s->rtr_read ? MPA_E_READ : 0;
	}
	proto_put16(p, ird);
	proto_put16(p + 2, ord);
}

size_t mpa_start_build(u8 *buf, bool reply, const struct mpa_start *s,
		       const u8 *pd)
{
	u32 enh = s->enhanced ? MPA_ENH_LEN : 0;
	u32 pd_len = s->pd_len + enh;

	if (pd_len > MPA_PD_MAX || (enh && s->rev < MPA_REV_2))
		return 0;

	memcpy(buf, reply ? mpa_key_rep : mpa_key_req, MPA_KEY_LEN);
	buf[16] = (s->markers ? MPA_F_MARKERS : 0) |
		  (s->crc ? MPA_F_CRC : 0) |
		  (reply && s->reject ? MPA_F_REJECT : 0) |
		  (enh ? MPA_F_ENHANCED : 0) |
		  (s->code & MPA_CODE_MASK);
	buf[17] = s->rev;
	proto_put16(buf + 18, (u16)pd_len);
	if (enh)
		mpa_build_enhanced(buf + MPA_HDR_LEN, s);
	if (s->pd_len)
		memcpy(buf + MPA_HDR_LEN + enh, pd, s->pd_len);
	return MPA_HDR_LEN + pd_len;
}
EXPORT_SYMBOL_GPL(mpa_start_build);

static u16 mpa_min(u16 a, u16 b)
{
	return a < b ? a : b;
}

static u8 mpa_ivl_to_code(u32 ivl)
{
	u8 code = 0;

	for (; ivl > 128; ivl >>= 1)
		code++;
	return code & MPA_CODE_IVL;
}

/* Interval that a Request proposes, as its code, or 0 */
static u8 mpa_proposed(const struct mpa_start *req)
{
	return req->code & MPA_CODE_EXT ? 0 : req->code;
}

static bool mpa_offers_ext(const struct mpa_start *req)
{
	return req->code & MPA_CODE_IVL;
}

static bool mpa_agree_ext(const struct mpa_start *req,
			  const struct mpa_start *rep)
{
	return mpa_offers_ext(req) && rep->code == (req->code ^ MPA_CODE_EXT);
}

/* Marker intervals of both directions, from what the two frames say */
static void mpa_agree_markers(const struct mpa_start *req,
			      const struct mpa_start *rep, u32 *to_initiator,
			      u32 *to_responder)
{
	u8 code = mpa_proposed(req);
	bool agreed = rep->markers && code &&
		      (rep->code & MPA_CODE_IVL) == code;
	u32 ivl = agreed ? 128U << code : MPA_MARK_IVL;

	*to_initiator = req->markers || agreed ? ivl : 0;
	*to_responder = rep->markers ? ivl : 0;
}

/* The responder's part of RFC 6581 section 9 */
static void mpa_respond_enhanced(const struct mpa_start *req,
				 const struct mpa_limits *lim,
				 struct mpa_start *rep, struct mpa_result *res)
{
	rep->enhanced = true;
	rep->p2p = req->p2p;

	/* reads of the peer: promise no more than it asks for */
	if (req->ord == MPA_IRD_ULP) {
		rep->ird = MPA_IRD_ULP;
	} else {
		rep->ird = mpa_min(req->ord, lim->ird);
		res->ird = rep->ird;
	}
	/* reads of this side: at most what the peer can take */
	if (req->ird == MPA_IRD_ULP) {
		rep->ord = MPA_IRD_ULP;
	} else {
		rep->ord = mpa_min(req->ird, lim->ord);
		res->ord = rep->ord;
	}
	if (!req->p2p)
		return;

	rep->rtr_send = req->rtr_send;
	rep->rtr_write = req->rtr_write;
	rep->rtr_read = req->rtr_read;
	if (!rep->rtr_send && !rep->rtr_write && !rep->rtr_read)
		rep->rtr_write = true;
	res->rtr_send = rep->rtr_send;
	/* reserve a place for the ready-to-receive Read, too */
	if (rep->rtr_read && !res->ird) {
		res->ird = 1;
		if (req->ord != MPA_IRD_ULP)
			rep->ird = 1;
	}
}

void mpa_respond(const struct mpa_start *req, const struct mpa_limits *lim,
		 struct mpa_start *rep, struct mpa_result *res)
{
	memset(rep, 0, sizeof(*rep));
	memset(res, 0, sizeof(*res));
	rep->rev = req->rev;
	rep->markers = lim->markers == MPA_WANT_ON ||
		       (lim->markers == MPA_WANT_AUTO &&
			(req->markers || mpa_proposed(req)));
	if (mpa_offers_ext(req))
		rep->code = req->code ^ MPA_CODE_EXT;
	rep->crc = lim->crc || req->crc;
	res->ird = lim->ird;
	res->ord = lim->ord;
	res->crc = rep->crc;
	res->ext = mpa_agree_ext(req, rep);
	mpa_agree_markers(req, rep, &res->tx_ivl, &res->rx_ivl);
	res->fenced = true;
	if (req->enhanced)
		mpa_respond_enhanced(req, lim, rep, res);
	else if (!res->ird)
		res->ird = 1;	/* cxgb4 begins revision 1 with a Read of 0 bytes */
}
EXPORT_SYMBOL_GPL(mpa_respond);

void mpa_request(u8 rev, const struct mpa_limits *lim, struct mpa_start *req)
{
	memset(req, 0, sizeof(*req));
	req->rev = rev;
	req->markers = lim->markers == MPA_WANT_ON;
	req->code = MPA_CODE_PLAIN;
	if (lim->markers != MPA_WANT_OFF)
		req->code = mpa_ivl_to_code(lim->ivl);
	req->crc = lim->crc;
	if (rev < MPA_REV_2)
		return;
	req->enhanced = true;
	req->p2p = true;
	req->rtr_send = true;
	req->rtr_write = true;
	req->rtr_read = true;
	req->ird = lim->ird;
	req->ord = lim->ord;
}
EXPORT_SYMBOL_GPL(mpa_request);

static int mpa_finish_enhanced(const struct mpa_start *req,
			       const struct mpa_start *rep,
			       const struct mpa_limits *lim,
			       struct mpa_result *res)
{
	if (rep->ird != MPA_IRD_ULP)
		res->ord = mpa_min(lim->ord, rep->ird);
	if (rep->ord != MPA_IRD_ULP) {
		if (rep->ord > lim->ird)
			return MPA_ERR_IRD;
		res->ird = rep->ord;
	}
	if (!req->p2p || !rep->p2p)
		return 0;
	if (rep->rtr_write && req->rtr_write)
		res->rtr = MPA_RTR_WRITE;
	else if (rep->rtr_read && req->rtr_read)
		res->rtr = MPA_RTR_READ;
	else if (rep->rtr_send && req->rtr_send)
		res->rtr = MPA_RTR_SEND;
	else
		return MPA_ERR_RTR;
	return 0;
}

int mpa_finish(const struct mpa_start *req, const struct mpa_start *rep,
	       const struct mpa_limits *lim, struct mpa_result *res)
{
	memset(res, 0, sizeof(*res));
	res->ird = lim->ird;
	res->ord = lim->ord;
	res->crc = req->crc || rep->crc;
	res->ext = mpa_agree_ext(req, rep);
	mpa_agree_markers(req, rep, &res->rx_ivl, &res->tx_ivl);
	if (!req->enhanced || !rep->enhanced)
		return 0;
	return mpa_finish_enhanced(req, rep, lim, res);
}
EXPORT_SYMBOL_GPL(mpa_finish);

u32 mpa_ulpdu_fit(u64 pos, u32 room, u32 ivl)
{
	u32 body, first;

	room &= ~3U;
	if (room < MPA_CRC_SIZE + MPA_LEN_SIZE + 2)
		return 0;
	body = room - MPA_CRC_SIZE;
	if (ivl) {
		/* markers due before byte `body`; one right there costs 4 */
		first = mpa_to_mark(pos, ivl);
		if (body >= first && ((body - first) & (ivl - 1)) == 0)
			body -= MPA_MARK_SIZE;
		if (body > first)
			body -= MPA_MARK_SIZE *
				(1 + (body - 1 - first) / ivl);
		if (body < MPA_LEN_SIZE + 2 || body > room)
			return 0;
	}
	body -= MPA_LEN_SIZE;
	return body < MPA_ULPDU_MAX ? body : MPA_ULPDU_MAX;
}
EXPORT_SYMBOL_GPL(mpa_ulpdu_fit);

void mpa_walk_begin(struct mpa_walk *w, u64 pos, u32 ivl)
{
	w->ivl = ivl;
	w->to_mark = ivl ? mpa_to_mark(pos, ivl) : MPA_NO_MARK;
	w->have = 0;
	w->since = 0;
	w->in_head = true;
	w->bad = false;
}
EXPORT_SYMBOL_GPL(mpa_walk_begin);

/* Collect bytes of a marker, which may arrive in pieces */
static u32 mpa_walk_mark(struct mpa_walk *w, const u8 *raw, u32 len)
{
	u32 n = MPA_MARK_SIZE - w->have;

	n = n < len ? n : len;
	memcpy(w->mark + w->have, raw, n);
	w->have += n;
	if (w->have < MPA_MARK_SIZE)
		return n;

	if ((proto_get16(w->mark + 2) & ~3U) != w->since)
		w->bad = true;
	if (!w->in_head)
		w->since += MPA_MARK_SIZE;
	w->have = 0;
	w->to_mark = w->ivl - MPA_MARK_SIZE;
	return n;
}

u32 mpa_walk_next(struct mpa_walk *w, const u8 *raw, u32 len, const u8 **data,
		  u32 *n)
{
	u32 skip = 0;

	*n = 0;
	if (!w->to_mark) {
		skip = mpa_walk_mark(w, raw, len);
		len -= skip;
		if (!w->to_mark || !len)
			return skip;
	}
	*data = raw + skip;
	*n = len < w->to_mark ? len : w->to_mark;
	w->in_head = false;
	w->to_mark -= *n;
	w->since += *n;
	return skip + *n;
}
EXPORT_SYMBOL_GPL(mpa_walk_next);
