// SPDX-License-Identifier: GPL-2.0
/*
 * native_load: load on stream sockets of any family, from kernel threads.
 *
 * In User-Mode Linux a system call costs more than what it shall measure, so
 * both ends of a connection are driven from inside the kernel. Commands are
 * written to /sys/kernel/debug/native_load/control, one per write; reading
 * gives the result of the last one:
 *
 *	open SLOT FAMILY PROTOCOL ADDRESS PORT SERVER CLIENT
 *		listen, connect, accept; the last two are file descriptors of
 *		network namespaces
 *	bw SLOT SIZE COUNT
 *		send COUNT times SIZE bytes to the other end
 *	lat SLOT SIZE COUNT
 *		COUNT round trips of SIZE bytes
 *	close SLOT
 *
 * The result of bw and lat is "BEGIN ELAPSED CPU BYTES SWITCHES FAULTS": when it
 * began and how long it took by the host's monotonic clock, processor time, all
 * three in nanoseconds, bytes that the receiver took, and the rest of struct usage.
 *
 * Uses socket calls of the kernel only. Context: process; one mutex.
 */
#include <linux/debugfs.h>
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "compat.h"

#define SLOTS 32
#define BUFFER (1024U * 1024)

/* A connection: both of its ends, and the namespaces they keep alive */
struct slot {
	struct socket *client;
	struct socket *server;
	struct net *net[2]; /* client's, server's */
};

/*
 * State of this machine as the host's kernel accounts for it, a process: the
 * clock, processor time, page faults, and how often it left its processor.
 * Between two readings without a switch both clocks advance alike.
 */
struct usage {
	u64 wall_ns;
	u64 cpu_ns;
	u64 faults;
	u64 switches;
};

/* One end of a measurement */
struct task {
	struct socket *sock;
	int (*run)(struct task *t);
	void *buf;
	u32 size;
	u64 count;
	u64 bytes;
	int err;
	struct completion done;
};

static struct slot slots[SLOTS];
static struct dentry *dir;
static char result[128];
static void *bufs[2];
static DEFINE_MUTEX(load_mutex); /* everything above */

#if defined(CONFIG_UML) && defined(CONFIG_X86_64)
/* A system call of the host's kernel */
static long host_call(long nr, long a, void *b)
{
	asm volatile("syscall"
		     : "+a"(nr)
		     : "D"(a), "S"(b)
		     : "rcx", "r11", "memory");
	return nr;
}

static u64 host_clock(long clock)
{
	long ts[2] = {};

	host_call(228 /* clock_gettime */, clock, ts);
	return ts[0] * NSEC_PER_SEC + ts[1];
}

static void usage_read(struct usage *u)
{
	/* struct rusage: times of both kinds, then counts */
	long ru[18] = {};

	u->wall_ns = host_clock(CLOCK_MONOTONIC);
	u->cpu_ns = host_clock(2 /* CLOCK_PROCESS_CPUTIME_ID */);
	host_call(98 /* getrusage */, 0 /* RUSAGE_SELF */, ru);
	u->faults = ru[8] + ru[9];
	u->switches = ru[16] + ru[17];
}
#else
static void usage_read(struct usage *u)
{
	*u = (struct usage){ .wall_ns = ktime_get_ns() };
	u->cpu_ns = u->wall_ns;
}
#endif

static int send_all(struct task *t, u32 len)
{
	while (len) {
		struct kvec vec = { .iov_base = t->buf, .iov_len = len };
		struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
		int n = kernel_sendmsg(t->sock, &msg, &vec, 1, len);

		if (n < 0)
			return n;
		len -= n;
	}
	return 0;
}

/* Return: bytes, or an error; a connection that ended is one */
static int recv_some(struct task *t, u32 len)
{
	struct kvec vec = { .iov_base = t->buf, .iov_len = len };
	struct msghdr msg = {};
	int n = kernel_recvmsg(t->sock, &msg, &vec, 1, len, 0);

	return n ? n : -ECONNRESET;
}

static int recv_all(struct task *t, u32 len)
{
	while (len) {
		int n = recv_some(t, len);

		if (n < 0)
			return n;
		len -= n;
	}
	return 0;
}

static int run_send(struct task *t)
{
	int err = 0;
	u64 i;

	for (i = 0; i < t->count && !err; i++)
		err = send_all(t, t->size);
	return err;
}

static int run_recv(struct task *t)
{
	u64 left = t->size * t->count;

	while (left) {
		int n = recv_some(t, min_t(u64, left, BUFFER));

		if (n < 0)
			return n;
		left -= n;
		t->bytes += n;
	}
	return 0;
}

static int run_ping(struct task *t)
{
	int err = 0;
	u64 i;

	for (i = 0; i < t->count && !err; i++) {
		err = send_all(t, t->size);
		if (!err)
			err = recv_all(t, t->size);
		t->bytes += t->size;
	}
	return err;
}

static int run_pong(struct task *t)
{
	int err = 0;
	u64 i;

	for (i = 0; i < t->count && !err; i++) {
		err = recv_all(t, t->size);
		if (!err)
			err = send_all(t, t->size);
	}
	return err;
}

static int task_fn(void *data)
{
	struct task *t = data;

	t->err = t->run(t);
	/* the other end waits for what will not come */
	if (t->err)
		kernel_sock_shutdown(t->sock, SHUT_RDWR);
	complete(&t->done);
	return 0;
}

/* Both ends at once; the time ends when both have */
static int measure(struct task *a, struct task *b, u64 bytes)
{
	struct task_struct *ta, *tb;
	struct usage start, end;

	init_completion(&a->done);
	init_completion(&b->done);
	ta = kthread_create(task_fn, a, "load_client");
	if (IS_ERR(ta))
		return PTR_ERR(ta);
	tb = kthread_create(task_fn, b, "load_server");
	if (IS_ERR(tb)) {
		kthread_stop(ta);
		return PTR_ERR(tb);
	}
	usage_read(&start);
	wake_up_process(tb);
	wake_up_process(ta);
	wait_for_completion(&a->done);
	wait_for_completion(&b->done);
	usage_read(&end);
	if (a->err || b->err)
		return a->err ?: b->err;
	snprintf(result, sizeof(result), "%llu %llu %llu %llu %llu %llu\n",
		 start.wall_ns, end.wall_ns - start.wall_ns, end.cpu_ns - start.cpu_ns,
		 bytes, end.switches - start.switches,
		 end.faults - start.faults);
	return 0;
}

static int cmd_measure(struct slot *s, bool lat, u32 size, u64 count)
{
	struct task a = { .size = size, .count = count, .buf = bufs[0] };
	struct task b = { .size = size, .count = count, .buf = bufs[1] };

	if (!s->client)
		return -ENOTCONN;
	if (!size || size > BUFFER || !count || count > U32_MAX)
		return -EINVAL;
	a.sock = s->client;
	b.sock = s->server;
	a.run = lat ? run_ping : run_send;
	b.run = lat ? run_pong : run_recv;
	return measure(&a, &b, count * size);
}

static void cmd_close(struct slot *s)
{
	int i;

	if (s->client)
		sock_release(s->client);
	if (s->server)
		sock_release(s->server);
	for (i = 0; i < 2; i++) {
		if (s->net[i])
			put_net(s->net[i]);
	}
	memset(s, 0, sizeof(*s));
}

static void set_nodelay(struct socket *sock)
{
	sockptr_t one = KERNEL_SOCKPTR(&(int){ 1 });

	/* a family without the option does not delay */
	sock->ops->setsockopt(sock, IPPROTO_TCP, 1, one, sizeof(int));
}

static int connect_pair(struct slot *s, struct socket *listener,
			struct sockaddr_in *addr)
{
	struct sockaddr_unsized *sa = (struct sockaddr_unsized *)addr;
	int err;

	err = kernel_bind(listener, sa, sizeof(*addr));
	if (!err)
		err = kernel_listen(listener, 1);
	if (!err)
		err = kernel_connect(s->client, sa, sizeof(*addr), 0);
	if (!err)
		err = kernel_accept(listener, &s->server, 0);
	if (err)
		return err;
	set_nodelay(s->client);
	set_nodelay(s->server);
	return 0;
}

static int open_nets(struct slot *s, const int *fds)
{
	struct net *net;
	int i;

	for (i = 0; i < 2; i++) {
		net = get_net_ns_by_fd(fds[i]);
		if (IS_ERR(net))
			return PTR_ERR(net);
		s->net[i] = net;
	}
	return 0;
}

static int cmd_open(struct slot *s, int family, int proto,
		    struct sockaddr_in *addr, const int *fds)
{
	struct socket *listener;
	int err;

	if (s->client)
		return -EBUSY;
	err = open_nets(s, fds);
	if (err)
		goto fail;
	err = sock_create_kern(s->net[0], family, SOCK_STREAM, proto,
			       &s->client);
	if (err)
		goto fail;
	err = sock_create_kern(s->net[1], family, SOCK_STREAM, proto,
			       &listener);
	if (err)
		goto fail;
	err = connect_pair(s, listener, addr);
	sock_release(listener);
	if (!err)
		return 0;
fail:
	cmd_close(s);
	return err;
}

/* Return: 0 or an error; -EINVAL for what is not understood */
static int command(const char *line)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int family, proto, port, fds[2];
	unsigned int slot, size;
	unsigned long long n;
	char word[8], ip[20];

	if (sscanf(line, "%7s %u", word, &slot) != 2 || slot >= SLOTS)
		return -EINVAL;
	if (!strcmp(word, "close")) {
		cmd_close(&slots[slot]);
		return 0;
	}
	if (!strcmp(word, "open")) {
		if (sscanf(line, "%*s %*u %d %d %19s %d %d %d", &family, &proto,
			   ip, &port, &fds[1], &fds[0]) != 6)
			return -EINVAL;
		if (!in4_pton(ip, -1, (u8 *)&addr.sin_addr, -1, NULL))
			return -EINVAL;
		addr.sin_port = htons(port);
		return cmd_open(&slots[slot], family, proto, &addr, fds);
	}
	if (sscanf(line, "%*s %*u %u %llu", &size, &n) != 2)
		return -EINVAL;
	if (!strcmp(word, "bw") || !strcmp(word, "lat"))
		return cmd_measure(&slots[slot], word[0] == 'l', size, n);
	return -EINVAL;
}

static ssize_t control_write(struct file *file, const char __user *ubuf,
			     size_t len, loff_t *pos)
{
	char line[128];
	int err;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, ubuf, len))
		return -EFAULT;
	line[len] = 0;
	mutex_lock(&load_mutex);
	result[0] = 0;
	err = command(line);
	mutex_unlock(&load_mutex);
	return err ?: len;
}

static ssize_t control_read(struct file *file, char __user *ubuf, size_t len,
			    loff_t *pos)
{
	ssize_t ret;

	mutex_lock(&load_mutex);
	ret = simple_read_from_buffer(ubuf, len, pos, result, strlen(result));
	mutex_unlock(&load_mutex);
	return ret;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.read = control_read,
	.write = control_write,
};

static int __init load_init(void)
{
	bufs[0] = vzalloc(BUFFER);
	bufs[1] = vzalloc(BUFFER);
	if (!bufs[0] || !bufs[1]) {
		vfree(bufs[0]);
		vfree(bufs[1]);
		return -ENOMEM;
	}
	dir = debugfs_create_dir("native_load", NULL);
	debugfs_create_file("control", 0600, dir, NULL, &control_fops);
	return 0;
}

static void __exit load_exit(void)
{
	int i;

	debugfs_remove_recursive(dir);
	for (i = 0; i < SLOTS; i++)
		cmd_close(&slots[i]);
	vfree(bufs[0]);
	vfree(bufs[1]);
}

module_init(load_init);
module_exit(load_exit);
MODULE_DESCRIPTION("Load on stream sockets from kernel threads");
MODULE_LICENSE("GPL");
