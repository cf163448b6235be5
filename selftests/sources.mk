# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Test programs: SRC_NAME has the sources of NAME, LIBS_NAME what it is linked with beside
# LIBS. Included by the Makefile here, and by the one that scripts/into-kernel.sh writes.

NET	:= lib/net.c
SRC_sockprobe	:= $(addprefix sdp/,sockprobe.c probe.c probe_state.c \
		   probe_connect.c probe_corner.c \
		   probe_server.c probe_data.c probe_option.c) $(NET)
SRC_xfer	:= sdp/xfer.c sdp/xfer_data.c $(NET)
SRC_sdp-actions	:= sdp/actions.c $(NET)
SRC_sdp-sockopt	:= sdp/sockopt.c
SRC_sdp-stress	:= sdp/stress.c $(NET)
SRC_sdp-scale	:= sdp/scale.c $(NET)
SRC_hyb-hostile	:= $(addprefix iwarp_hybrid/,hostile.c hostile_fpdu.c \
		   hostile_ext.c hostile_start.c hostile_ready.c peer.c) \
		   sdp/hostile_sdp.c sdp/hostile_zcopy.c sdp/hostile_walk.c \
		   sdp/hostile_verbs.c sdp/peer_verbs.c $(NET)
LIBS_hyb-hostile := -lrdmacm -libverbs
SRC_sdp-echo	:= sdp/echo.c $(NET)
SRC_sdp-echo-static := sdp/echo.c $(NET)
LIBS_sdp-echo-static := -static
SRC_sdp-shared	:= sdp/shared.c $(NET)
SRC_sdp-fc	:= sdp/fc.c $(NET)
SRC_sdp-flows	:= sdp/flows.c $(NET)
SRC_sdp-append	:= sdp/append.c $(NET)
SRC_sdp-zcopy	:= sdp/zcopy.c sdp/zcopy_lib.c $(NET)
SRC_sdp-zcache	:= sdp/zcopy_cache.c sdp/zcopy_lib.c $(NET)
SRC_sdp-notify	:= sdp/notify.c $(NET)
SRC_sdp-refer	:= sdp/refer.c sdp/zcopy_lib.c $(NET)
SRC_sdp-rxmap	:= sdp/rxmap.c $(NET)
SRC_sdp-uring	:= sdp/uring.c $(NET)
SRC_hyb-target	:= iwarp_hybrid/target.c
LIBS_hyb-target	:= -lrdmacm -libverbs
SRC_hyb-ooo	:= $(addprefix iwarp_hybrid/,ooo.c ooo_tcp.c peer.c) $(NET)
SRC_hyb-failnth	:= $(addprefix iwarp_hybrid/,failnth.c failnth_calls.c \
		   failnth_link.c failnth_sock.c failnth_zcopy.c) sdp/zcopy_lib.c $(NET)
LIBS_hyb-failnth	:= -lrdmacm -libverbs
SRC_hyb-rings	:= iwarp_hybrid/rings.c iwarp_hybrid/rings_calls.c
LIBS_hyb-rings	:= -lrdmacm -libverbs -pthread
SRC_hyb-again	:= iwarp_hybrid/again.c iwarp_hybrid/peer.c $(NET)
LIBS_hyb-again	:= -lrdmacm -libverbs
SRC_sdp-copy	:= bench/copy.c
SRC_ulp-verify	:= ulp/verify.c
SRC_ulp-uverbs	:= ulp/uverbs.c
LIBS_ulp-uverbs	:= -lrdmacm -libverbs
SRC_in-ns	:= lib/in_ns.c
LIBS_in-ns	:= -static
PROGS	:= $(patsubst SRC_%,%,$(filter SRC_%,$(.VARIABLES)))
LIBS	:= -lpthread
