// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Probes of data transfer: flags of recv and send, urgent data, messages,
 * splice, edge-triggered epoll.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/sockios.h>

#include "probe.h"

static void recv_timeout(int fd, long usec)
{
	struct timeval tv = { usec / 1000000, usec % 1000000 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}

void probe_recv_flags(void)
{
	char buf[16] = "";
	int c, a;

	new_pair(&c, &a);
	do_send(a, "abcdef", 0);
	wait_readable(c, 6);
	row("PEEK", "%s", do_recv(c, 3, MSG_PEEK));
	row("PEEK again", "%s", do_recv(c, 9, MSG_PEEK));
	row("PEEK with TRUNC", "%s",
	    res_num(recv(c, buf, 3, MSG_PEEK | MSG_TRUNC)));
	row("TRUNC discards", "%s", res_num(recv(c, buf, 2, MSG_TRUNC)));
	row("TRUNC leaves the buffer alone", "%s", buf[0] ? "no" : "yes");
	row("after discard", "%s", do_recv(c, 9, 0));
	row("recv len 0, no data, DONTWAIT", "%s", do_recv(c, 0, MSG_DONTWAIT));
	row("DONTWAIT empty", "%s", do_recv(c, 1, MSG_DONTWAIT));
	row("PEEK empty DONTWAIT", "%s",
	    do_recv(c, 1, MSG_PEEK | MSG_DONTWAIT));
	do_send(a, "12", 0);
	wait_readable(c, 2);
	row("recv len 0 with data", "%s", do_recv(c, 0, 0));
	row("WAITALL+DONTWAIT partial", "%s",
	    do_recv(c, 5, MSG_WAITALL | MSG_DONTWAIT));
	row("ERRQUEUE empty", "%s", do_recv(c, 5, MSG_ERRQUEUE));
	do_send(a, "mn", 0);
	shutdown(a, SHUT_WR);
	row("WAITALL until FIN", "%s", do_recv(c, 9, MSG_WAITALL));
	close(c);
	close(a);
}

void probe_recv_wait(void)
{
	int c, a;

	new_pair(&c, &a);
	recv_timeout(c, 100000);
	row("RCVTIMEO expiry", "%s", do_recv(c, 1, 0));
	do_send(a, "12", 0);
	wait_readable(c, 2);
	row("WAITALL with RCVTIMEO partial", "%s", do_recv(c, 5, MSG_WAITALL));
	row("PEEK WAITALL with RCVTIMEO", "%s",
	    do_recv(c, 5, MSG_WAITALL | MSG_PEEK));
	close(c);
	close(a);
	new_pair(&c, &a);
	set_int(c, SOL_SOCKET, SO_RCVLOWAT, 4);
	row("RCVLOWAT get", "%d", get_int(c, SOL_SOCKET, SO_RCVLOWAT));
	do_send(a, "ab", 0);
	wait_readable(c, 2);
	row("RCVLOWAT 4, 2 bytes: poll", "%s", poll_settled(c, 0));
	recv_timeout(c, 100000);
	row("RCVLOWAT 4, 2 bytes: recv with timeout", "%s",
	    do_recv(c, 9, MSG_PEEK));
	row("RCVLOWAT: nonblock recv", "%s", do_recv(c, 9, MSG_DONTWAIT));
	do_send(a, "abcd", 0);
	row("RCVLOWAT 4, 4 bytes: poll", "%s", poll_settled(c, POLLIN));
	set_int(c, SOL_SOCKET, SO_RCVLOWAT, 0);
	row("RCVLOWAT 0 becomes", "%d", get_int(c, SOL_SOCKET, SO_RCVLOWAT));
	close(c);
	close(a);
}

static void send_timeout(int fd)
{
	struct timeval tv = { 0, 100000 };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

void probe_send(void)
{
	struct iovec iov[3] = {
		{ "one", 3 },
		{ NULL, 0 },
		{ "two", 3 },
	};
	int c, a;

	new_pair(&c, &a);
	row("send length 0", "%s", do_send(c, "", 0));
	row("writev", "%s", res_num(writev(c, iov, 3)));
	row("write(2)", "%s", res_num(write(c, "zz", 2)));
	wait_readable(a, 8);
	row("read(2) gets all", "%s", do_recv(a, 20, 0));
	row("send MSG_MORE", "%s", do_send(c, "mo", MSG_MORE));
	row("send after MSG_MORE", "%s", do_send(c, "re", 0));
	wait_readable(a, 4);
	row("recv after MSG_MORE", "%s", do_recv(a, 9, 0));
	row("send MSG_EOR", "%s", do_send(c, "eo", MSG_EOR));
	do_send(c, "r", 0);
	wait_readable(a, 3);
	row("MSG_EOR makes no boundary", "%s", do_recv(a, 9, 0));
	row("send MSG_CONFIRM|DONTROUTE", "%s",
	    do_send(c, "c", MSG_CONFIRM | MSG_DONTROUTE));
	row("sendto with an address", "%s",
	    res_num(sendto(c, "t", 1, 0, (struct sockaddr *)&target.host.sa,
			   target.host.len)));
	row("send MSG_ZEROCOPY without SO_ZEROCOPY", "%s",
	    do_send(c, "z", MSG_ZEROCOPY));
	row("send bad buffer", "%s", res_num(send(c, (void *)8, 4, 0)));
	row("send DONTWAIT when full", "%s",
	    send_when_full(c, false, MSG_DONTWAIT));
	send_timeout(c);
	row("send with SNDTIMEO when full", "%s", send_when_full(c, false, 0));
	close(c);
	close(a);
}

static int at_mark(int fd)
{
	return queue_size(fd, SIOCATMARK);
}

void probe_oob(void)
{
	int c, a;

	new_pair(&c, &a);
	row("recv OOB none", "%s", do_recv(c, 1, MSG_OOB));
	do_send(a, "ab", 0);
	row("send OOB", "%s", do_send(a, "!", MSG_OOB));
	do_send(a, "cd", 0);
	wait_events(c, POLLPRI);
	wait_readable(c, 2);
	row("OOB poll", "%s", poll_settled(c, POLLPRI | POLLIN));
	row("OOB SIOCATMARK before", "%d", at_mark(c));
	row("OOB FIONREAD", "%d", queue_size(c, FIONREAD));
	row("recv stops at mark", "%s", do_recv(c, 9, 0));
	row("SIOCATMARK at mark", "%d", at_mark(c));
	row("peek OOB", "%s", do_recv(c, 9, MSG_OOB | MSG_PEEK));
	row("recv OOB", "%s", do_recv(c, 9, MSG_OOB));
	row("recv OOB twice", "%s", do_recv(c, 9, MSG_OOB));
	wait_readable(c, 2);
	row("rest", "%s", do_recv(c, 9, 0));
	row("SIOCATMARK past the mark", "%d", at_mark(c));
	row("recv OOB after it was passed", "%s", do_recv(c, 1, MSG_OOB));
	row("poll after OOB", "%s", poll_settled(c, POLLOUT));
	close(c);
	close(a);
	new_pair(&c, &a);
	do_send(a, "12!", MSG_OOB);
	wait_events(c, POLLPRI);
	do_send(a, "34?", MSG_OOB);
	wait_readable(c, 5);
	row("two urgent bytes: first becomes normal data", "%s",
	    do_recv(c, 9, 0));
	row("two urgent bytes: recv OOB", "%s", do_recv(c, 9, MSG_OOB));
	shutdown(a, SHUT_WR);
	wait_events(c, POLLRDHUP);
	row("recv OOB after FIN", "%s", do_recv(c, 1, MSG_OOB));
	close(c);
	close(a);
	c = new_socket();
	row("recv OOB unconnected", "%s", do_recv(c, 1, MSG_OOB));
	close(c);
}

/*
 * Send @text with its last byte urgent, and wait until @fd has seen it. POLLPRI may be set
 * by an urgent byte before, so wait until this one has been acknowledged, too. The sleep is
 * for the receiver after that.
 */
static void send_urgent(int fd, int peer, const char *text)
{
	int i;

	do_send(peer, text, MSG_OOB);
	wait_events(fd, POLLPRI);
	for (i = 0; i < 1000 && queue_size(peer, SIOCOUTQ) > 0; i++)
		sleep_ms(5);
	sleep_ms(20);
}

/* Print the rows of @fd after @what */
static void urgent_rows(int fd, const char *what)
{
	char name[80];

	snprintf(name, sizeof(name), "%s: FIONREAD", what);
	row(name, "%d", queue_size(fd, FIONREAD));
	snprintf(name, sizeof(name), "%s: SIOCATMARK", what);
	row(name, "%d", at_mark(fd));
	snprintf(name, sizeof(name), "%s: poll", what);
	row(name, "%s", poll_settled(fd, POLLPRI));
	snprintf(name, sizeof(name), "%s: peek", what);
	row(name, "%s", do_recv(fd, 9, MSG_PEEK | MSG_DONTWAIT));
	snprintf(name, sizeof(name), "%s: recv", what);
	row(name, "%s", do_recv(fd, 9, MSG_DONTWAIT));
	snprintf(name, sizeof(name), "%s: SIOCATMARK after recv", what);
	row(name, "%d", at_mark(fd));
	snprintf(name, sizeof(name), "%s: FIONREAD after recv", what);
	row(name, "%d", queue_size(fd, FIONREAD));
	snprintf(name, sizeof(name), "%s: recv OOB", what);
	row(name, "%s", do_recv(fd, 9, MSG_OOB));
	snprintf(name, sizeof(name), "%s: the rest", what);
	row(name, "%s", do_recv(fd, 9, MSG_DONTWAIT));
}

/* @texts: terminated by NULL, each with an urgent byte at its end */
static void urgent_case(const char *what, bool in_line, bool read,
			const char *const texts[])
{
	int c, a;

	new_pair(&c, &a);
	if (in_line)
		set_int(c, SOL_SOCKET, SO_OOBINLINE, 1);
	for (; *texts; texts++) {
		send_urgent(c, a, *texts);
		if (read && texts[1])
			do_recv(c, 1, MSG_OOB);
	}
	urgent_rows(c, what);
	close(c);
	close(a);
}

/* A reader that has been at the mark of one urgent byte when the next one comes */
void probe_oob_again(void)
{
	static const char *const two[] = { "A", "B", NULL };
	static const char *const three[] = { "A", "B", "C", NULL };
	static const char *const data[] = { "A", "xB", NULL };
	static const char *const front[] = { "xA", "yB", NULL };
	int c, a;

	urgent_case("urgent twice", false, false, two);
	urgent_case("urgent twice, first one read", false, true, two);
	urgent_case("urgent three times", false, false, three);
	urgent_case("urgent three times, two read", false, true, three);
	urgent_case("urgent twice, data between", false, false, data);
	urgent_case("urgent twice, data before", false, false, front);
	urgent_case("urgent twice in line", true, false, two);
	new_pair(&c, &a);
	send_urgent(c, a, "12A");
	row("urgent again: recv to the mark", "%s", do_recv(c, 9, 0));
	row("urgent again: peek past the mark", "%s",
	    do_recv(c, 9, MSG_PEEK | MSG_DONTWAIT));
	do_recv(c, 1, MSG_OOB);
	send_urgent(c, a, "34B");
	do_send(a, "56", 0);
	wait_readable(c, 2);
	row("urgent again: MSG_TRUNC", "%s",
	    res_num(recv(c, NULL, 1, MSG_TRUNC)));
	urgent_rows(c, "urgent again");
	close(c);
	close(a);
}

void probe_oob_inline(void)
{
	int c, a;

	new_pair(&c, &a);
	set_int(c, SOL_SOCKET, SO_OOBINLINE, 1);
	do_send(a, "ab", 0);
	do_send(a, "!", MSG_OOB);
	do_send(a, "cd", 0);
	wait_events(c, POLLPRI);
	wait_readable(c, 5);
	row("OOBINLINE poll", "%s", poll_settled(c, POLLPRI | POLLIN));
	row("OOBINLINE 1st", "%s", do_recv(c, 9, 0));
	row("OOBINLINE SIOCATMARK", "%d", at_mark(c));
	row("OOBINLINE MSG_OOB", "%s", do_recv(c, 9, MSG_OOB));
	row("OOBINLINE 2nd", "%s", do_recv(c, 9, 0));
	close(c);
	close(a);
}

void probe_messages(void)
{
	char buf[2][8], ctl[100];
	struct sockaddr_storage name;
	struct iovec iov[2] = { { buf[0], 2 }, { buf[1], 8 } };
	struct mmsghdr vec[2] = { 0 };
	struct msghdr msg = {
		.msg_name = &name,
		.msg_namelen = sizeof(name),
		.msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = ctl,
		.msg_controllen = sizeof(ctl),
	};
	int c, a;

	new_pair(&c, &a);
	do_send(a, "abcd", 0);
	wait_readable(c, 4);
	row("recvmsg", "%s", res_num(recvmsg(c, &msg, 0)));
	row("recvmsg scatters", "%.2s %.2s", buf[0], buf[1]);
	row("recvmsg name length", "%u", msg.msg_namelen);
	row("recvmsg flags", "0x%x", msg.msg_flags);
	row("recvmsg control length", "%zu", msg.msg_controllen);
	do_send(a, "wxyz", 0);
	wait_readable(c, 4);
	vec[0].msg_hdr.msg_iov = &iov[0];
	vec[0].msg_hdr.msg_iovlen = 1;
	vec[1].msg_hdr.msg_iov = &iov[1];
	vec[1].msg_hdr.msg_iovlen = 1;
	row("recvmmsg", "%s", res_num(recvmmsg(c, vec, 2, MSG_DONTWAIT, NULL)));
	row("recvmmsg lengths", "%u %u", vec[0].msg_len, vec[1].msg_len);
	iov[0].iov_len = 3;
	memcpy(buf[0], "abc", 3);
	row("sendmmsg", "%s", res_num(sendmmsg(c, vec, 1, 0)));
	wait_readable(a, 3);
	row("received from sendmmsg", "%s", do_recv(a, 9, 0));
	close(c);
	close(a);
}

static int file_with(size_t bytes)
{
	char *block = malloc(bytes);
	int fd = memfd_create("probe", 0);

	if (fd < 0 || !block)
		setup_failed("memfd_create");
	memset(block, 'F', bytes);
	if (write(fd, block, bytes) != (ssize_t)bytes)
		setup_failed("write");
	free(block);
	return fd;
}

void probe_splice(void)
{
	int c, a, f, p[2];
	off_t off = 0;
	char byte;

	new_pair(&c, &a);
	f = file_with(10000);
	row("sendfile", "%s", res_num(sendfile(c, f, &off, 10000)));
	wait_readable(a, 10000);
	if (pipe(p))
		setup_failed("pipe");
	row("splice socket to pipe", "%s",
	    res_num(splice(a, NULL, p[1], NULL, 4096, 0)));
	row("splice pipe to socket", "%s",
	    res_num(splice(p[0], NULL, a, NULL, 100, 0)));
	wait_readable(c, 100);
	row("spliced bytes arrive", "%d", queue_size(c, FIONREAD));
	row("read(2)", "%s", do_recv(a, 10, 0));
	drain(a, 10000 - 4096 - 10);
	row("splice from an empty socket", "%s",
	    res_num(splice(a, NULL, p[1], NULL, 4096, SPLICE_F_NONBLOCK)));
	shutdown(c, SHUT_WR);
	wait_events(a, POLLRDHUP);
	row("splice at EOF", "%s",
	    res_num(splice(a, NULL, p[1], NULL, 4096, 0)));
	row("lseek", "%s", res_num(lseek(c, 0, SEEK_SET)));
	row("pread", "%s", res_num(pread(c, &byte, 1, 0)));
	row("mmap", "%s",
	    mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, c, 0) == MAP_FAILED ?
		    "fails" :
		    "ok");
	row("fsync", "%s", res_ok(fsync(c)));
	row("ftruncate", "%s", res_ok(ftruncate(c, 0)));
	close(p[0]);
	close(p[1]);
	close(f);
	close(c);
	close(a);
}

static int watch(int fd, unsigned int events)
{
	struct epoll_event ev = { .events = events };
	int ep = epoll_create1(0);

	if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev))
		setup_failed("epoll");
	return ep;
}

static void probe_epoll_in(void)
{
	int c, a, ep;

	new_pair(&c, &a);
	ep = watch(c, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
	row("epoll ET initial", "%s", res_epoll(ep, 0));
	row("epoll ET again", "%s", res_epoll(ep, 50));
	do_send(a, "1", 0);
	row("epoll ET data", "%s", res_epoll(ep, PROBE_WAIT_MS));
	row("epoll ET data, no second event", "%s", res_epoll(ep, 50));
	do_send(a, "2", 0);
	row("epoll ET more data unread", "%s", res_epoll(ep, PROBE_WAIT_MS));
	close(a);
	row("epoll ET peer close", "%s", res_epoll(ep, PROBE_WAIT_MS));
	row("epoll ET none", "%s", res_epoll(ep, 50));
	close(ep);
	close(c);
}

void probe_epoll(void)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLONESHOT };
	int c, a, ep;
	size_t n;

	probe_epoll_in();
	new_pair(&c, &a);
	ep = watch(c, EPOLLOUT | EPOLLET);
	res_epoll(ep, 0);
	n = fill(c);
	row("epoll ET OUT while full", "%s", res_epoll(ep, 50));
	drain(a, n);
	row("epoll ET OUT after drain", "%s", res_epoll(ep, PROBE_WAIT_MS));
	row("send after drain", "%s", do_send(c, "x", 0));
	close(ep);
	close(c);
	close(a);
	new_pair(&c, &a);
	ep = epoll_create1(0);
	epoll_ctl(ep, EPOLL_CTL_ADD, c, &ev);
	do_send(a, "1", 0);
	row("epoll oneshot", "%s", res_epoll(ep, PROBE_WAIT_MS));
	do_send(a, "2", 0);
	wait_readable(c, 2);
	row("epoll oneshot disarmed", "%s", res_epoll(ep, 50));
	epoll_ctl(ep, EPOLL_CTL_MOD, c, &ev);
	row("epoll oneshot armed again", "%s", res_epoll(ep, PROBE_WAIT_MS));
	reset_close(a);
	wait_events(c, POLLHUP);
	close(ep);
	ep = watch(c, 0);
	row("epoll with no events asked: reset shows", "%s",
	    res_epoll(ep, PROBE_WAIT_MS));
	close(ep);
	close(c);
}
