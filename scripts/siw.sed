# SPDX-License-Identifier: GPL-2.0
#
# What is changed in siw, the peer to test against, when it is built (sed -E).
#
# siw takes sk_callback_lock for reading with softirqs on, although it also runs
# in process context there and the lock is taken for writing in softirqs (by its
# own siw_rtr_data_ready() among others).  lockdep is right to complain, once, and
# from then on says nothing about that lock and all of its class, which is that
# of every TCP socket: a report about us would be lost.
s/\bread_(un)?lock\(&sk->sk_callback_lock\)/read_\1lock_bh(\&sk->sk_callback_lock)/
