// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that connect. Some devices block in rdma_connect() until TCP gives up, and make
 * their TCP socket in the namespace of the task. A thread makes the call in place of the
 * program: the program's own wait ends as the socket's options say, and the removal of the
 * device can interrupt the thread. A work item would occupy a worker for minutes, and be in
 * the wrong namespace.
 *
 * The end of the connection interrupts its thread with a signal, as one would interrupt
 * the program. Calls sdp_conn.c; sdp_cm.c passes the function that connects.
 */
#include <linux/kthread.h>
#include <linux/nsproxy.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_dial.h"
#include "sdp_mib.h"

#define SDP_DIAL_MAX	1024	/* threads of a namespace */
#define SDP_DIAL_USER	256	/* threads of one user in it; root has no such limit */

/**
 * struct sdp_dial - a thread that connects
 * @node: in sdp_net.dials; sdp_net.dial_lock
 * @conn: connection, with a reference
 * @connect: the call that may block
 * @uid: owner of the socket
 * @ns: those of the thread. Not from the cache of nsproxies: others get references to it
 *	and put them, but they never have the last one.
 */
struct sdp_dial {
	struct list_head node;
	struct sdp_conn *conn;
	void (*connect)(struct sdp_conn *conn);
	kuid_t uid;
	struct nsproxy ns;
};

#ifdef HAVE_NSPROXY_REFCOUNT
#define sdp_dial_ns_init(ns)	refcount_set(&(ns)->count, 1)
#define sdp_dial_ns_refs(ns)	refcount_read(&(ns)->count)
#else
#define sdp_dial_ns_init(ns)	atomic_set(&(ns)->count, 1)
#define sdp_dial_ns_refs(ns)	atomic_read(&(ns)->count)
#endif

/* Returns the nsproxy that @ns replaces. */
static struct nsproxy *sdp_dial_set_ns(struct nsproxy *ns)
{
	struct nsproxy *old;

	task_lock(current);	/* other tasks may look at our namespaces */
	old = current->nsproxy;
	current->nsproxy = ns;
	task_unlock(current);
	return old;
}

static void sdp_dial_in_net(struct sdp_dial *dial)
{
	struct nsproxy *old = current->nsproxy;

	dial->ns = *old;
	sdp_dial_ns_init(&dial->ns);
	dial->ns.net_ns = sock_net(dial->conn->sk);
	sdp_dial_set_ns(&dial->ns);
	dial->connect(dial->conn);
	sdp_dial_set_ns(old);
	/* setns() with a descriptor of this thread */
	while (sdp_dial_ns_refs(&dial->ns) > 1)
		schedule_timeout_uninterruptible(1);
}

/*
 * Add @more to the number of threads of a user. Only the first one of a user may need
 * memory, and only an addition fails. dial_lock held.
 */
static int sdp_dial_count(struct sdp_net *sn, kuid_t uid, int more)
{
	unsigned long i = __kuid_val(uid);
	unsigned long n;

	lockdep_assert_held(&sn->dial_lock);
	n = xa_to_value(xa_load(&sn->dial_users, i)) + more;
	if (n > SDP_DIAL_USER && !uid_eq(uid, GLOBAL_ROOT_UID))
		return -EAGAIN;
	return xa_err(xa_store(&sn->dial_users, i, n ? xa_mk_value(n) : NULL,
			       GFP_ATOMIC));
}

static void sdp_dial_end(struct sdp_dial *dial)
{
	struct sdp_conn *conn = dial->conn;
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	unsigned long irq;

	spin_lock_irqsave(&sn->dial_lock, irq);
	list_del(&dial->node);
	sn->ndials--;
	sdp_dial_count(sn, dial->uid, -1);
	conn->cm.dial_task = NULL;
	spin_unlock_irqrestore(&sn->dial_lock, irq);
	kfree(dial);
	sdp_conn_put(conn);
}

static int sdp_dial_thread(void *arg)
{
	struct sdp_dial *dial = arg;

	allow_signal(SIGKILL);
	smp_mb();	/* pairs with test_and_set_bit() in sdp_conn_down() */
	if (!test_bit(SDP_CONN_DOWN, &dial->conn->flags))
		sdp_dial_in_net(dial);
	sdp_dial_end(dial);
	module_put_and_kthread_exit(0);
}

static int sdp_dial_add(struct sdp_dial *dial)
{
	struct sdp_net *sn = sdp_pernet(sock_net(dial->conn->sk));
	unsigned long irq;
	int err = -EAGAIN;

	spin_lock_irqsave(&sn->dial_lock, irq);
	if (sn->ndials < SDP_DIAL_MAX)
		err = sdp_dial_count(sn, dial->uid, 1);
	if (!err) {
		list_add(&dial->node, &sn->dials);
		sn->ndials++;
	}
	spin_unlock_irqrestore(&sn->dial_lock, irq);
	return err;
}

/**
 * sdp_dial_start - call a function that may block for long in a thread
 * @conn: connection, which the thread gets a reference to
 * @connect: the function. It is interrupted when the connection ends.
 *
 * Context: process; holds a reference to the connection.
 *
 * Return: 0, or a negative errno: -EAGAIN if there are too many threads.
 */
int sdp_dial_start(struct sdp_conn *conn,
		   void (*connect)(struct sdp_conn *conn))
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	struct task_struct *task;
	struct sdp_dial *dial;
	unsigned long irq;
	int err;

	dial = kzalloc(sizeof(*dial), GFP_KERNEL_ACCOUNT);
	if (!dial)
		return -ENOMEM;
	dial->conn = conn;
	dial->connect = connect;
	dial->uid = sk_uid(conn->sk);
	refcount_inc(&conn->refs);
	err = sdp_dial_add(dial);
	if (err) {
		kfree(dial);
		refcount_dec(&conn->refs);
		return err;
	}
	task = kthread_create(sdp_dial_thread, dial, "sdp_connect");
	if (IS_ERR(task)) {
		sdp_dial_end(dial);
		return PTR_ERR(task);
	}
	__module_get(THIS_MODULE);
	spin_lock_irqsave(&sn->dial_lock, irq);
	conn->cm.dial_task = task;
	spin_unlock_irqrestore(&sn->dial_lock, irq);
	wake_up_process(task);
	return 0;
}

/* ---- removal of devices ---- */

/*
 * A thread holds the lock of the cm_id, so the RDMA CM could not report the removal of
 * the device, and would wait for the thread. The core removes clients in the reverse order
 * of their registration: this one before the RDMA CM. The data of the client, which is not
 * NULL, says that the device stays.
 */
static int sdp_dial_dev_add(struct ib_device *device);
static void sdp_dial_dev_remove(struct ib_device *device, void *data);

static struct ib_client sdp_dial_client = {
	.name = "sdp",
	.add = sdp_dial_dev_add,
	.remove = sdp_dial_dev_remove,
};

static int sdp_dial_dev_add(struct ib_device *device)
{
	ib_set_client_data(device, &sdp_dial_client, &sdp_dial_client);
	return 0;
}

/* A connection that a thread makes at a device, with a reference */
static struct sdp_conn *sdp_dial_at(struct sdp_net *sn,
				    const struct ib_device *device)
{
	struct sdp_conn *conn = NULL;
	struct sdp_dial *dial;
	unsigned long irq;

	spin_lock_irqsave(&sn->dial_lock, irq);
	list_for_each_entry(dial, &sn->dials, node)
		if (dial->conn->cm.dial_dev == device &&
		    !test_bit(SDP_CONN_DOWN, &dial->conn->flags)) {
			conn = dial->conn;
			refcount_inc(&conn->refs);
			break;
		}
	spin_unlock_irqrestore(&sn->dial_lock, irq);
	return conn;
}

static void sdp_dial_dev_remove(struct ib_device *device, void *data)
{
	struct sdp_conn *conn;
	struct net *net;

	ib_set_client_data(device, &sdp_dial_client, NULL);
	down_read(&net_rwsem);
	for_each_net(net)
		while ((conn = sdp_dial_at(sdp_pernet(net), device))) {
			SDP_INC_STATS(net, DEVICE_REMOVALS);
			sdp_conn_down(conn, ENETRESET);
			sdp_conn_put(conn);
		}
	up_read(&net_rwsem);
}

/**
 * sdp_dial_begin - the thread is about to use a device
 * @conn: connection of the thread
 * @device: the device, which cannot go before sdp_dial_done()
 *
 * Return: 0, or -ENETUNREACH if the device is about to go.
 */
int sdp_dial_begin(struct sdp_conn *conn, struct ib_device *device)
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	unsigned long irq;

	spin_lock_irqsave(&sn->dial_lock, irq);
	conn->cm.dial_dev = device;
	spin_unlock_irqrestore(&sn->dial_lock, irq);
	/* the lock orders this and the search of sdp_dial_dev_remove() */
	return ib_get_client_data(device, &sdp_dial_client) ? 0 : -ENETUNREACH;
}

/**
 * sdp_dial_done - the thread does not use the device any more
 * @conn: connection of the thread
 */
void sdp_dial_done(struct sdp_conn *conn)
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	unsigned long irq;

	spin_lock_irqsave(&sn->dial_lock, irq);
	conn->cm.dial_dev = NULL;
	spin_unlock_irqrestore(&sn->dial_lock, irq);
}

/**
 * sdp_dial_init - before the first socket, after the namespaces
 *
 * Context: module init.
 *
 * Return: 0 or a negative errno.
 */
int sdp_dial_init(void)
{
	return ib_register_client(&sdp_dial_client);
}

/**
 * sdp_dial_exit - after the last socket
 */
void sdp_dial_exit(void)
{
	ib_unregister_client(&sdp_dial_client);
}
