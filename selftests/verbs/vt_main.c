// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, the tests (see ../lib/ktest.h):
 *
 *	listen ADDR PORT	in the network namespace of the writer
 *	peer ADDR PORT		where that is
 *	imm			immediate data
 *	atomic			atomic operations
 *	withdraw		the right to them goes while one is held up
 *	inval			keys that end
 *	close			ends of connections
 *	resize			queues get other sizes
 *	flush			requests are posted while a queue is flushed
 *	stranger a|b		that side's peer knows neither
 *	fetch ADDR PORT		an atomic operation, for a peer that is no test
 *	agree			private data, as long as rdma_cm takes; Reads under way
 *	reject			a connection that is not accepted
 *	flood			2 MB each for two without a receive
 *	drain			a receive for that, and the end
 *	scale			costs beside many queue pairs
 *	reuse			buffers are used again before they are read
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
