/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connection end points, from the creation of the TCP socket over MPA start-up to
 * the end.
 *
 * Every connection is an object with a state machine (enum hyb_cep_state). The
 * functions here run in process context. Those that take a connection need its lock, except
 * hyb_cep_lock() and hyb_lid_unlist(), which needs hyb_lid.lock.
 *
 * Locks, outermost first: hyb_cep.lock; hyb_lsock_port.lock; hyb_lsock.lock;
 * hyb_lid.id_lock; hyb_cm_dev.lock; the socket's. Of these a connection takes its own,
 * hyb_lid.id_lock of its listener, the socket's, and hyb_cm_dev.lock to enter or leave the
 * device's list. hyb_lid.lock is a leaf. None of them is held while waiting for the RTNL, hence
 * hyb_cm_dev_down() may be called with it held.
 */
#ifndef HYB_CEP_H
#define HYB_CEP_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct hyb_cep;
struct hyb_dev;
struct hyb_lsock;
struct hyb_lsock_port;
struct hyb_qp;
struct iw_cm_conn_param;
struct iw_cm_id;
struct net;
struct rdma_cm_id;
struct sockaddr_storage;
struct socket;

/* Hashes of addresses of peers whose connections start up */
#define HYB_PEERS	64

/* Longest wait for packets that the device has not sent, in jiffies */
#define HYB_T_RECALL	(2 * HZ)

/* A cm_id listens on a socket */
struct hyb_link {
	struct list_head node;
	struct hyb_lid *lid;
	struct hyb_lsock *ls;
};

/* Sockets of a cm_id: IPv6 and IPv4, on the net device and on loopback */
#define HYB_LID_LINKS	4

/**
 * struct hyb_lid - a listening cm_id
 * @ref: one for the IW CM until destroy_listen, one for each connection in @starting
 * @dev: device, counted in hyb_cm_dev.users
 * @id_lock: protects @id
 * @id: cm_id, referenced; NULL when destroyed, which it is not while it has @links
 * @node: entry of hyb_cm_dev.lids, under hyb_cm_dev.lock
 * @patient: sockets that cannot listen yet are no error; under the lock of the port
 * @at: port of its sockets
 * @link: sockets; under the lock of the port
 * @links: entries of @link; under the lock of the port
 * @starting: connections whose Request has not been passed to the ULP
 * @seed: of the hash of addresses
 * @lock: protects @peers
 * @peers: connections in @starting without those that were evicted, by hash of the peer's
 *	   address: a list, oldest first, and its length
 */
struct hyb_lid {
	struct kref ref;
	struct hyb_dev *dev;
	struct mutex id_lock;	/* @id */
	struct iw_cm_id *id;
	struct list_head node;
	bool patient;
	struct hyb_lsock_port *at;
	struct hyb_link link[HYB_LID_LINKS];
	int links;
	atomic_t starting;
	u32 seed;
	spinlock_t lock;	/* @peers */
	struct {
		struct list_head waiting;
		u32 nr;
	} peers[HYB_PEERS];
};

void hyb_lid_put(struct hyb_lid *lid);
void hyb_lid_unlist(struct hyb_lid *lid, struct hyb_cep *cep);

/* The caller of hyb_cep_new() owns the only reference */
struct hyb_cep *hyb_cep_new(struct hyb_dev *dev);
void hyb_cep_lock(struct hyb_cep *cep);
void hyb_cep_unlock(struct hyb_cep *cep);
int hyb_cep_enlist(struct hyb_cep *cep);
void hyb_cep_arm(struct hyb_cep *cep, unsigned long delay);
int hyb_cep_bind(struct hyb_cep *cep, struct hyb_qp *qp);
void hyb_cep_unbind(struct hyb_cep *cep);
struct hyb_cep *hyb_request_take(struct iw_cm_id *id);

int hyb_cep_dial(struct hyb_cep *cep);
int hyb_cep_accept(struct hyb_cep *cep, struct iw_cm_id *id,
		   struct iw_cm_conn_param *param);
int hyb_mpa_send(struct hyb_cep *cep, const u8 *frame, size_t len);
void hyb_cep_linger(struct hyb_cep *cep);
void hyb_cep_linger_refused(struct hyb_cep *cep);
void hyb_cep_drop(struct hyb_cep *cep, bool reset);
void hyb_cep_dead(struct hyb_cep *cep);
void hyb_cep_kill(struct hyb_cep *cep);

/* Addresses and namespace of a cm_id and of a socket */
const struct rdma_cm_id *hyb_cm_rdma_id(const struct iw_cm_id *id);
struct net *hyb_cm_net(const struct iw_cm_id *id);
int hyb_addr_len(const struct sockaddr_storage *addr);
struct sockaddr_storage hyb_local_addr(const struct iw_cm_id *id);
void hyb_sockname(struct socket *sock, struct sockaddr_storage *local,
		  struct sockaddr_storage *peer);
void hyb_unmap_v4(struct sockaddr_storage *addr);

#endif
