/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Beyond kernel.h, for hyb_rx.c, hyb_fast.c and hyb_recv.c: packets in TCP's receive
 * queue, and the parts of the driver that reception calls. A NIC checks CRCs, and may place
 * payload. Requests of the peer are refused.
 */
#ifndef SELFTESTS_FUZZ_RX_KERNEL_H
#define SELFTESTS_FUZZ_RX_KERNEL_H

/* Counters that both ways have to agree on, and those that are not looked at */
enum hyb_stat {
	HYB_ST_RX_BYTES,
	HYB_ST_RX_FPDUS,
	HYB_ST_RX_COPIES,
	HYB_ST_RX_COPY_BYTES,
	HYB_ST_RX_CRC_BYTES,
	HYB_ST_RX_NIC_BYTES,
	HYB_ST_RX_NIC_PLACED,
	HYB_ST_RX_TERM,
	HYB_ST_RX_SHARED_BYTES,
	HYB_ST_ERR_CRC,
	HYB_ST_ERR_MARKER,
	HYB_ST_ERR_LENGTH,
	HYB_ST_ERR_DDP_VERSION,
	HYB_ST_ERR_DDP_QN,
	HYB_ST_ERR_DDP_MSN,
	HYB_ST_ERR_DDP_MO,
	HYB_ST_ERR_DDP_BUF,
	HYB_ST_ERR_RDMAP_VERSION,
	HYB_ST_ERR_RDMAP_OPCODE,
	HYB_ST_ERR_STAG,
	HYB_ST_ERR_PD,
	HYB_ST_ERR_BOUNDS,
	HYB_ST_ERR_ACCESS,
	HYB_ST_ERR_INVAL,
	HYB_ST_ERR_IRD,
	HYB_ST_ERR_ATOMIC,
	HYB_ST_ERR_READ_RESP,
	HYB_ST_ERR_LOCAL,
	HYB_ST_SAME, /* those above */
	HYB_ST_RX_WALKS = HYB_ST_SAME,
	HYB_ST_RX_SHARED_CALLS,
	HYB_ST_RX_SHARED_RUNS,
	HYB_ST_RX_SHARED_PAUSED,
	HYB_ST_RX_PAUSED,
	HYB_ST_RX_BUDGET,
	HYB_ST_CQ_EVENT,
	HYB_ST_TX_SHARED_MSGS,
	HYB_ST_TX_SHARED_BYTES,
	HYB_ST_TX_APPENDED,
	HYB_ST_TX_APPENDED_BYTES,
	HYB_ST_TX_SAVED_BYTES,
	HYB_ST_TX_MSS_CHANGED,
	HYB_ST_TX_REFUSED,
	HYB_ST_TX_ABORTED,
	HYB_ST_TX_BYTES,
	HYB_ST_TX_FPDUS,
	HYB_ST_TX_COPIES,
	HYB_ST_TX_COPY_BYTES,
	HYB_ST_TX_REF_BYTES,
	HYB_ST_TX_CRC_BYTES,
	HYB_ST_TX_NIC_BYTES,
	HYB_ST_TX_TERM,
	HYB_ST_TX_NOSPACE,
	HYB_ST_TX_TCP_CALLS,
	HYB_ST_OTHERS,
};

extern unsigned long counted[];
#define hyb_stats_add(dev, id, n) ((void)(dev), counted[id] += (n))
#define hyb_stats_inc(dev, id) hyb_stats_add(dev, id, 1)
#define __hyb_stats_add(dev, id, n) hyb_stats_add(dev, id, n)
#define hyb_qp_count(qp, id, n) ((void)(qp), counted[id] += (n))
#define hyb_qp_count_own(qp, id, n) ((void)(qp), (void)(n))

#include "kernel.h"

#define __packed __attribute__((packed))
#define __be16 u16
#define __be32 u32
#define __be64 u64
#define cpu_to_be32(v) __builtin_bswap32(v)
#define cpu_to_be64(v) __builtin_bswap64(v)
#define be16_to_cpu(v) __builtin_bswap16(v)
#define be32_to_cpu(v) __builtin_bswap32(v)
#define be64_to_cpu(v) __builtin_bswap64(v)
#define clamp(v, low, high) min(max(v, low), high)

#define msecs_to_jiffies(ms) (ms)
#define jiffies 0ul
#define time_after(a, b) ((long)((b) - (a)) < 0)

/* ---- packets ---- */

#define MAX_FRAGS 17

struct skb_frag {
	struct page *page;
	u32 off, len;
};

#define skb_frag_t struct skb_frag

struct skb_shared_info {
	u32 nr_frags;
	struct sk_buff *frag_list;
	skb_frag_t frags[MAX_FRAGS];
};

#define skb_shinfo(skb) ((skb)->info)
#define skb_headlen(skb) ((skb)->headlen)
#define skb_frag_page(f) ((f)->page)
#define skb_frag_off(f) ((f)->off)
#define skb_frag_size(f) ((f)->len)
#define compound_head(page) (page)
#define virt_to_head_page(p) ((void)(p), (struct page *)NULL)
#define skb_queue_is_last(list, skb) ((void)(list), !(skb)->behind)
#define skb_queue_next(list, skb) ((void)(list), (skb)->behind)
#define skb_frags_readable(skb) (!(skb)->unreadable)
#define skb_peek_tail(list) ((void)(list), last_packet())
#define skb_queue_walk_from(list, skb) \
	for (struct sk_buff **at = &(skb); *at; *at = (*at)->behind)

static inline u8 *skb_frag_address(const skb_frag_t *f)
{
	return f->page->mem + f->off;
}

#define RCV_SHUTDOWN 1
#define TCP_CLOSE 7
#define sock_net(sk) (&(sk)->net)

struct sk_buff *last_packet(void);
struct sk_buff *tcp_recv_skb(struct sock *sk, u32 seq, u32 *off);
void tcp_read_done(struct sock *sk, size_t len);

/* ---- the rest of the driver ---- */

enum {
	IB_ACCESS_LOCAL_WRITE = 1,
	IB_ACCESS_REMOTE_WRITE = 2,
	IB_ACCESS_REMOTE_READ = 4,
};
enum { IB_EVENT_QP_FATAL, IB_EVENT_QP_REQ_ERR, IB_EVENT_QP_ACCESS_ERR };
enum { HYB_EV_EOF, HYB_EV_TERM };
enum { HYB_FAULT = 16 }; /* for event() */
enum { HYB_QP_TERMINATE = 1, HYB_QP_ERROR };
enum { IWARP_PLACE_WRITE };

struct hyb_dev {
	bool crc_kernel;
};

struct hyb_cep {
	struct hyb_qp *live;
};

#define sock_owned_by_me(sk) ((void)(sk))
#define hyb_qp_fault(qp) ((void)(qp), event(HYB_FAULT))
#define hyb_dev_of(dev) ((struct hyb_dev *)(dev))
#define ibdev_warn_ratelimited(...) ((void)0)
#define hyb_qp_set_state(qp, state) ((void)(qp))
#define hyb_qp_event(qp, what) ((void)(qp), event(what))
#define hyb_cep_event(cep, what) ((void)(cep), event(8 + (what)))
#define hyb_qp_notify(qp) ((void)(qp), 0)
#define trace_hyb_fpdu_rx_enabled() false
#define trace_hyb_fpdu_rx(qp, pos, len, fpdus, hdr) ((void)(hdr))
#define trace_hyb_terminate_rx(qp, err) ((void)(err))

void event(int what);

/* Registered memory: the driver's header, and rx_memory.c instead of hyb_mem.c */
#define refcount_t int
#define atomic_t int
#define refcount_dec_and_test(n) (!--*(n))

struct list_head {
	struct list_head *next;
};

struct rcu_head {
	int none;
};

struct ib_mr {
	int none;
};

static inline bool list_empty(const struct list_head *list)
{
	return list->next == list;
}

int hyb_rq_get(struct hyb_qp *qp, struct siw_rqe *rqe, u32 len);
bool hyb_rq_ready(struct hyb_qp *qp);
void hyb_rq_complete(struct hyb_qp *qp, const struct siw_rqe *rqe, u32 bytes,
		     u32 inval, bool solicited, enum siw_wc_status status);
void hyb_sq_complete(struct hyb_qp *qp, u32 slot, u32 bytes,
		     enum siw_wc_status status);
/* Of RFC 7306, which hyb_ext_rx() refuses here */
#define hyb_rq_complete_imm(qp, rqe, bytes, imm, rdma, solicited) \
	((void)(qp), (void)(imm), abort())
#define hyb_srq_wait(qp) ((void)(qp))
#define hyb_sq_pending(qp) ((void)(qp), false)
#define hyb_off_read_done(qp, mem) ((void)(qp), (void)(mem))
#define check_add_overflow(a, b, sum) __builtin_add_overflow(a, b, sum)

#define HYB_RDQ_H
#define hyb_rdq_irq_room(tx) ((void)(tx), false)

#define HYB_OOO_H
#define hyb_ooo_due(qp) ((void)(qp), (const struct ooo_range *)NULL)
#define hyb_ooo_cross(qp, len) ((void)(qp), (void)(len), 0u)
#define hyb_ooo_account(qp, len) ((void)(qp), (void)(len))
#define hyb_ooo_abandon(qp) ((void)(qp))
#define hyb_ooo_recv(qp, rqe) ((void)(qp), (void)(rqe), 0)
bool hyb_ooo_early(const struct hyb_qp *qp);

/* A NIC that places needs no notification of more memory */
static inline bool hyb_off_places(const struct hyb_off *off)
{
	return off && off->place;
}

#define hyb_off_stop(off) ((void)(off))
#define hyb_off_passed(off, seq, nic) ((void)(off))
#define hyb_off_mismatch(qp) ((void)(qp))
#define hyb_off_rx_at(qp, off, seq, pos) ((void)(qp))
#define hyb_off_place(qp, mem, stag, to, len, what) ((void)(qp))

/* As the driver's: all of the FPDU in a packet that the NIC has found good */
static inline enum hyb_off_verdict
hyb_off_rx_ok(struct hyb_off *off, const struct sk_buff *skb, u32 seq, u32 len)
{
	if (!off || !skb->checked ||
	    seq - TCP_SKB_CB(skb)->seq + len > skb->len)
		return HYB_OFF_NONE;
	return off->verify ? HYB_OFF_DOUBLE : HYB_OFF_GOOD;
}

#endif /* SELFTESTS_FUZZ_RX_KERNEL_H */
