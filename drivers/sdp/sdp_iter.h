/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that an iov_iter stands at, in one piece. A message of a shared
 * link lies in many small pieces between markers; copying each of them with
 * copy_*_iter() costs more than their bytes do. Leaf: calls nothing of SDP.
 */
#ifndef _SDP_ITER_H
#define _SDP_ITER_H

#include <linux/uaccess.h>
#include <linux/uio.h>

#include "compat.h"

/*
 * User memory at the front of @i, or NULL if less than @want bytes of it are
 * in one piece. raw_copy_*_user() may be used on them.
 */
static inline void __user *sdp_iter_user(const struct iov_iter *i, size_t want)
{
	const struct iovec *iov;
	void __user *p;

	if (i->count < want)
		return NULL;
	if (iter_is_ubuf(i)) {
		p = i->ubuf + i->iov_offset;
	} else if (iter_is_iovec(i)) {
		iov = iter_iov(i);
		if (iov->iov_len - i->iov_offset < want)
			return NULL;
		p = iov->iov_base + i->iov_offset;
	} else {
		return NULL;
	}
	return access_ok(p, want) ? p : NULL;
}

/* The same for memory of the kernel */
static inline void *sdp_iter_kernel(const struct iov_iter *i, size_t want)
{
	if (!iov_iter_is_kvec(i) || i->count < want ||
	    i->kvec->iov_len - i->iov_offset < want)
		return NULL;
	return i->kvec->iov_base + i->iov_offset;
}

/*
 * Bytes of user memory in one piece at the front of @i, which begin at @addr; 0 if
 * it is no user memory.
 */
static inline size_t sdp_iter_segment(const struct iov_iter *i,
				      unsigned long *addr)
{
	void __user *p;

	if (iter_is_ubuf(i))
		p = i->ubuf + i->iov_offset;
	else if (iter_is_iovec(i))
		p = iter_iov(i)->iov_base + i->iov_offset;
	else
		return 0;
	*addr = (unsigned long)p;
	return iov_iter_single_seg_count(i);
}

#endif
