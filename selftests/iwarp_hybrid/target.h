/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Offers of the target of the attacks: the private data of its MPA Reply,
 * all fields big-endian, and the commands it takes as messages.
 */
#ifndef SELFTESTS_IWARP_TARGET_H
#define SELFTESTS_IWARP_TARGET_H

#define TARGET_REGION 4096 /* bytes of each memory region */
#define TARGET_MESSAGE 256 /* bytes of each receive buffer */
#define TARGET_RECEIVES 8
/* the receive of the first message has two buffers, the first one of this many bytes */
#define TARGET_SPLIT 4
#define TARGET_IRD 4

/* Private data: four times STag (4), address (8) */
enum target_region {
	REGION_RW, /* remote read, write, atomic operations */
	REGION_RO, /* remote read */
	REGION_LOCAL, /* no remote access */
	REGION_FOREIGN, /* of another protection domain */
	REGIONS
};

/*
 * Messages: 'E' is echoed. 'R' STag (4) address (8) length (4) makes the
 * target read that memory of the sender into REGION_RW. 'F' and a byte fill
 * REGION_RW with that. 'L' registers TARGET_LARGE_LEN bytes for reading, the
 * answer is 'L' STag (4) address (8); 'S' sends them all. 'D' ends their
 * registration or, without it, that of REGION_RW; 'W' takes all rights from that,
 * but leaves its STag. A later write there is reported. 'K' sends from
 * memory that is not registered. 'C' closes, whatever is still to be sent. A target
 * that greets sends 'G' as soon as it can, and answers a message without content by 'Z'.
 */
#define TARGET_ECHO 'E'
#define TARGET_READ 'R'
#define TARGET_DEREG 'D'
#define TARGET_FILL 'F'
#define TARGET_GREETING 'G'
#define TARGET_EMPTY 'Z'
#define TARGET_LARGE 'L'
#define TARGET_SEND 'S'
#define TARGET_BAD_KEY 'K'
#define TARGET_RIGHTS 'W'
#define TARGET_CLOSE 'C'
#define TARGET_LARGE_LEN (2 << 20) /* more than TCP takes unread */
/* Bytes that come with a rejection, each its number ^ 0x5a */
#define TARGET_REASON 200

#endif /* SELFTESTS_IWARP_TARGET_H */
