// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-run -s: nothing can be preloaded into a static program, nor into one of
 * Go, which calls the kernel itself. A seccomp filter has the kernel ask
 * another process, the supervisor, about socket() of an Internet stream (TCP or
 * MPTCP), and nothing else. It answers with a socket of protocol IPPROTO_SDP,
 * which looks like one of the family asked for, so nothing is left to be hidden
 * from the program. Used by sdp-run; calls the kernel.
 *
 * The supervisor is double-forked so that wait() never sees it: no program
 * waits for an unknown child. It ends with the last process that has the
 * filter.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sdp.h>
#include <linux/seccomp.h>

#include "owner.h"
#include "supervise.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#define NATIVE_ARCH 0
#endif

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

#define TYPE_FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)

/* The low half of an argument; the kernel looks at no more of these */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARG(n) offsetof(struct seccomp_data, args[n])
#else
#define ARG(n) (offsetof(struct seccomp_data, args[n]) + 4)
#endif
#define LOAD(where) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, where)
#define IF_EQUAL(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, yes, no)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)

/* Returns the descriptor through which the kernel asks, or -1. */
static int install_filter(void)
{
	struct sock_filter code[] = {
		LOAD(offsetof(struct seccomp_data, arch)),
		IF_EQUAL(NATIVE_ARCH, 0, 12),
		LOAD(offsetof(struct seccomp_data, nr)),
		IF_EQUAL(SYS_socket, 0, 10),
		LOAD(ARG(0)),
		IF_EQUAL(AF_INET, 1, 0),
		IF_EQUAL(AF_INET6, 0, 7),
		LOAD(ARG(1)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~TYPE_FLAGS),
		IF_EQUAL(SOCK_STREAM, 0, 4),
		LOAD(ARG(2)),
		IF_EQUAL(0, 3, 0),
		IF_EQUAL(IPPROTO_TCP, 2, 0),
		/* listeners of Go ask for it by default, and accept TCP instead */
		IF_EQUAL(IPPROTO_MPTCP, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_USER_NOTIF),
	};
	const struct sock_fprog prog = {
		.len = sizeof(code) / sizeof(*code),
		.filter = code,
	};

	/* a signal does not interrupt the caller once we have its question */
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		       SECCOMP_FILTER_FLAG_NEW_LISTENER |
			       SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		       &prog);
}

static bool send_fd(int to, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec iov = { .iov_base = "", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	return sendmsg(to, &msg, MSG_NOSIGNAL) == 1;
}

/* Returns -1 if there was no sender. */
static int receive_fd(int from)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char c;
	struct iovec iov = { .iov_base = &c, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	int fd;

	if (recvmsg(from, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(int));
	return fd;
}

/* Whether a socket of ours is one for the network of that thread, too. */
static bool same_network(pid_t tid)
{
	struct stat own, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", tid);
	return !stat("/proc/self/ns/net", &own) && !stat(path, &its) &&
	       own.st_ino == its.st_ino && own.st_dev == its.st_dev;
}

/* Whether a file of /proc says the same of that thread as of us, or has nothing to say. */
static bool same_text(pid_t tid, const char *name)
{
	char path[64];
	FILE *own, *its;
	int a, b;

	snprintf(path, sizeof(path), "/proc/self/%s", name);
	own = fopen(path, "re");
	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	its = fopen(path, "re");
	do {
		a = own ? getc(own) : EOF;
		b = its ? getc(its) : EOF;
	} while (a == b && a != EOF);
	if (own)
		fclose(own);
	if (its)
		fclose(its);
	return a == b;
}

/* Whether a socket of ours would have the control groups and the label of theirs. */
static bool same_place(pid_t tid)
{
	return same_network(tid) && same_text(tid, "cgroup") &&
	       same_text(tid, "attr/current");
}

/*
 * A socket as asked for, or a negative errno. EPERM: net.sdp.fallback is 0, so it is
 * SDP or nothing, as in libsdp.c.
 */
static int open_socket(const struct seccomp_data *call, bool tcp_too)
{
	const int val = SDP_FALLBACK_TCP;
	int fd = socket(call->args[0], call->args[1], IPPROTO_SDP), err;

	if (fd >= 0 && tcp_too &&
	    setsockopt(fd, SOL_SDP, SDP_FALLBACK, &val, sizeof(val)) &&
	    errno != EPERM) {
		err = errno;
		close(fd);
		return -err;
	}
	return fd >= 0 ? fd : -errno;
}

/* The kernel has no SDP sockets, or not for this user: take one of TCP, as in libsdp.c */
static bool has_none(int err)
{
	return err == EPROTONOSUPPORT || err == EACCES || err == EPERM;
}

/* The caller may be gone by now, so it does not matter whether this works. */
static void answer(int listener, const struct seccomp_notif *ask, bool tcp_too)
{
	struct seccomp_notif_resp resp = { .id = ask->id };
	struct seccomp_notif_addfd add = {
		.id = ask->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.newfd_flags = ask->data.args[1] & SOCK_CLOEXEC ? O_CLOEXEC : 0,
	};
	int fd = -EPROTONOSUPPORT, ret;
	/* a TCP socket that is the caller's is better than an SDP socket that is ours */
	bool other = !same_place(ask->pid) || !owner_act_for(ask->pid);

	if (!other)
		fd = open_socket(&ask->data, tcp_too);
	owner_act_for_us();
	if (fd >= 0) {
		add.srcfd = fd;
		ret = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
		/* EMFILE, for one, is the caller's */
		resp.error = -errno;
		close(fd);
		if (ret >= 0)
			return;
	} else if (other || (tcp_too && has_none(-fd))) {
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	} else {
		resp.error = fd;
	}
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

/* In the supervisor, until no process with the filter is left. */
static void serve(int listener, bool tcp_too)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	struct seccomp_notif_sizes sizes;
	struct seccomp_notif *ask;

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes))
		return;
	/* the kernel's structure may have grown */
	ask = malloc(sizes.seccomp_notif > sizeof(*ask) ? sizes.seccomp_notif :
							  sizeof(*ask));
	if (!ask)
		return;
	for (;;) {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			break;
		if (!(p.revents & POLLIN)) {
			if (p.revents)
				break;
			continue;
		}
		memset(ask, 0, sizes.seccomp_notif);
		/* fails if the caller was interrupted meanwhile */
		if (!ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, ask))
			answer(listener, ask, tcp_too);
	}
	free(ask);
}

/* The supervisor: of its own session, with nothing of the caller's open. */
static void __attribute__((noreturn)) supervisor(int from, bool tcp_too)
{
	static const int for_program[] = { SIGHUP,  SIGINT,  SIGQUIT,
					   SIGTERM, SIGUSR1, SIGUSR2,
					   SIGPIPE, SIGALRM, SIGTSTP };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), listener;

	setsid();
	/* all processes of a service get them, and it may need sockets for an orderly end */
	for (size_t i = 0; i < sizeof(for_program) / sizeof(*for_program); i++)
		signal(for_program[i], SIG_IGN);
	/* no file system is kept busy */
	if (chdir("/"))
		_exit(1);
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	listener = receive_fd(from);
	/*
	 * keep only that one: others may be pipes that another process waits on
	 */
	if (listener >= 0 && dup2(listener, 3) == 3 &&
	    !syscall(SYS_close_range, 4, ~0U, 0)) {
		owner_start();
		serve(3, tcp_too);
	}
	_exit(0);
}

/* Two ends that the supervisor's own standard descriptors cannot replace. */
static bool make_pair(int pair[2])
{
	int low[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, low))
		return false;
	pair[0] = fcntl(low[0], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	pair[1] = fcntl(low[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(low[0]);
	close(low[1]);
	if (pair[0] >= 0 && pair[1] >= 0)
		return true;
	if (pair[0] >= 0)
		close(pair[0]);
	if (pair[1] >= 0)
		close(pair[1]);
	return false;
}

/* Do orphans become children of this process? As init of a container, or as a subreaper. */
static bool is_reaper(void)
{
	int on = 0;

	return getpid() == 1 || (!prctl(PR_GET_CHILD_SUBREAPER, &on) && on);
}

/*
 * Forks twice, so that the supervisor is no child of the program, unless this process
 * reaps orphans. Returns a descriptor to reach the supervisor, or -1. The first child ends
 * without SIGCHLD: if that is ignored here, there would be no child to wait for; if it is
 * blocked, the program would get it later.
 */
static int start_supervisor(bool tcp_too)
{
	bool reaper = is_reaper();
	int pair[2], status;
	pid_t pid;

	if (!make_pair(pair))
		return -1;
	pid = syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	if (!pid) {
		close(pair[0]);
		if (!reaper)
			pid = fork();
		if (!pid)
			supervisor(pair[1], tcp_too);
		_exit(pid < 0);
	}
	close(pair[1]);
	if (pid > 0 &&
	    (reaper || (waitpid(pid, &status, __WCLONE) == pid && !status)))
		return pair[0];
	close(pair[0]);
	return -1;
}

bool supervise(bool tcp_too, const char **why)
{
	int to, listener;

	errno = 0;
	*why = "not on this architecture";
	if (!NATIVE_ARCH)
		return false;
	*why = "no process to supervise";
	to = start_supervisor(tcp_too);
	if (to < 0)
		return false;
	*why = "the kernel takes no filter";
	listener = install_filter();
	if (listener < 0 && errno == EACCES &&
	    !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		listener = install_filter();
	if (listener >= 0 && send_fd(to, listener)) {
		close(to);
		close(listener);
		return true;
	}
	close(to);
	return false;
}
