# SPDX-License-Identifier: GPL-2.0
#
# Changes to siw, the peer to test against, when it is built (sed -E).
#
# siw takes sk_callback_lock for reading with softirqs on, although it also runs
# in process context there and the lock is taken for writing in softirqs (by its
# own siw_rtr_data_ready() among others).  lockdep is right to complain.  It does so
# once, and then says nothing about the class of that lock, which is the one of every
# TCP socket: a report about our modules would be lost.
s/\bread_(un)?lock\(&sk->sk_callback_lock\)/read_\1lock_bh(\&sk->sk_callback_lock)/

# An MPA Request that siw hears of twice, by the socket's callback and when it
# accepts the connection, makes it call sk_data_ready() a second time from its
# work item, without the socket's lock. If a ready-to-receive message comes then,
# siw_rtr_data_ready() runs on two CPUs and reports the connection established
# twice, upon which the IW CM stops with BUG().
s/^(\t+)(cep->sock->sk)->sk_data_ready\(\2\);/\1lock_sock(\2);\n&\n\1release_sock(\2);/

# Data that the peer sends between siw's MPA Reply and the moment siw_accept() puts
# the QP's callbacks in place is announced to the callbacks of the connection
# manager, which ignore it. If the peer then waits for an answer, both wait forever
# (one rping in ten on a slow kernel). So siw looks once more when it is done.
/^int siw_accept\(/,/^}/s/^\tsiw_cep_set_free\(cep\);/\tif (cep->sock) {\n\t\tstruct sock *sk = cep->sock->sk;\n\n\t\tlock_sock(sk);\n\t\tif (!skb_queue_empty(\&sk->sk_receive_queue))\n\t\t\tsk->sk_data_ready(sk);\n\t\trelease_sock(sk);\n\t}\n&/

# Constants of siw become parameters, so that it can be measured with CRC on, and with
# the segments that its authors left switched off.
s/^extern const bool (try_gso|mpa_crc_required);/extern bool \1;/
s/^const bool (try_gso|mpa_crc_required);/bool \1;\nmodule_param(\1, bool, 0644);/
