// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, the tests (see ../lib/ktest.h):
 *
 *	listen ADDR PORT	in the network namespace of the writer
 *	peer ADDR PORT		the address that it listens at, for the other tests
 *	imm			immediate data
 *	atomic			atomic operations
 *	withdraw		the right to them is withdrawn while one is held up
 *	inval			keys that are invalidated
 *	close			ends of connections
 *	resize			queues change their sizes
 *	flush			requests are posted while a queue is flushed
 *	stranger a|b		the peer of that side has neither immediate data nor atomic
 *				operations
 *	fetch ADDR PORT		an atomic operation, to a peer that is not this module
 *	agree			the longest private data of rdma_cm; number of Reads
 *	reject			a connection that is not accepted
 *	flood			2 MB on each of two connections that have no receive
 *	drain			receives for that data, and the end of the connections
 *	scale			costs beside many queue pairs
 *	reuse			buffers are used again before the peer has read the data
 */
#include <linux/module.h>
#include <linux/string.h>

#include "vt.h"

MODULE_DESCRIPTION("Tests of verbs that programs cannot ask for");
MODULE_LICENSE("GPL");

static int vt_run(const char *test, const char *args)
{
	if (!strcmp(test, "listen"))
		return vt_listen(args);
	if (!strcmp(test, "peer"))
		return vt_set_peer(args);
	if (!strcmp(test, "imm"))
		vt_imm_tests();
	else if (!strcmp(test, "atomic"))
		vt_atomic_tests();
	else if (!strcmp(test, "withdraw"))
		vt_withdraw_test();
	else if (!strcmp(test, "inval"))
		vt_inval_tests();
	else if (!strcmp(test, "close"))
		vt_close_tests();
	else if (!strcmp(test, "resize"))
		vt_resize_tests();
	else if (!strcmp(test, "flush"))
		vt_flush_tests();
	else if (!strcmp(test, "stranger"))
		vt_stranger_tests(args);
	else if (!strcmp(test, "fetch"))
		return vt_fetch_test(args);
	else if (!strcmp(test, "agree"))
		vt_agree_tests();
	else if (!strcmp(test, "reject"))
		vt_reject_tests();
	else if (!strcmp(test, "flood") || !strcmp(test, "drain"))
		vt_flood_tests(!strcmp(test, "drain"));
	else if (!strcmp(test, "scale"))
		vt_scale_tests();
	else if (!strcmp(test, "reuse"))
		vt_reuse_tests();
	else
		return -EINVAL;
	return 0;
}

static int __init vt_init(void)
{
	return kt_init("verbs_test", vt_run);
}

static void __exit vt_exit(void)
{
	kt_exit();
	vt_flood_end();
	vt_unlisten();
}

module_init(vt_init);
module_exit(vt_exit);
