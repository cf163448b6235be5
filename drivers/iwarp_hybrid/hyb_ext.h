/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RFC 7306: Immediate Data and atomic operations, both sides of them. Part of
 * the engines; everything here runs with the TCP socket held.
 */
#ifndef HYB_EXT_H
#define HYB_EXT_H

#include <linux/types.h>

#include "hyb_types.h"

struct hyb_qp;

/**
 * hyb_ext_tx_imm - lay out the Immediate Data after a Write
 * @qp: queue pair. The request in progress is a Write with immediate data whose
 *	payload is completely laid out.
 *
 * This FPDU completes the request.
 *
 * Return: HYB_LAY_DONE, or HYB_LAY_FULL if there is no room for the FPDU now.
 */
enum hyb_lay hyb_ext_tx_imm(struct hyb_qp *qp);

/**
 * hyb_ext_tx_request - lay out an Atomic Request and remember it
 * @qp: queue pair whose request in progress is an atomic operation
 *
 * Return: HYB_LAY_DONE, or HYB_LAY_FULL if there is no room for the FPDU now.
 */
enum hyb_lay hyb_ext_tx_request(struct hyb_qp *qp);

/**
 * hyb_ext_tx_response - lay out the answer to an Atomic Request
 * @qp: queue pair whose oldest inbound request is one that was carried out
 *
 * Return: HYB_LAY_DONE, or HYB_LAY_FULL if there is no room for the FPDU now.
 */
enum hyb_lay hyb_ext_tx_response(struct hyb_qp *qp);

/**
 * hyb_ext_rx - one of the messages of RFC 7306 has arrived
 * @qp: queue pair
 * @h: its header, checked by rdmap_check()
 * @p: the bytes after it, @h->payload of them
 *
 * Immediate Data consume a receive. Atomic operations are executed at once, because all
 * earlier Writes have been placed. If there is no receive, or no memory to keep the result of
 * an atomic operation, the function sets hyb_rx.paused: the message is to be passed again.
 * RFC 7306 sections 5, 6 and 8.
 *
 * Return: 0 or an error.
 */
u32 hyb_ext_rx(struct hyb_qp *qp, const struct ddp_hdr *h, const u8 *p);

#endif
