# SPDX-License-Identifier: GPL-2.0
# make profile LINK=veth, kernel 6.1: see Documentation/performance.rst
      90674659 100.00%      1.802  total
      17516258  19.32%      0.348  iwarp_crc_x86 [libiwarp]
       9634493  10.63%      0.191  sdp_shared_send [sdp]
       9497875  10.47%      0.189  sdp_frags_put [sdp]
       5703336   6.29%      0.113  hyb_rx_bulk_piece [iwarp_hybrid]
       3305479   3.65%      0.066  hyb_shared_seal_bulk.isra.0 [iwarp_hybrid]
       2527210   2.79%      0.050  hyb_shared_lay_bulk [iwarp_hybrid]
       1299672   1.43%      0.026  iwarp_crc32c [libiwarp]
        969975   1.07%      0.019  __tcp_transmit_skb
        966615   1.07%      0.019  tcp_ack
        862688   0.95%      0.017  sdp_pages_bulk.isra.0 [sdp]
        834045   0.92%      0.017  memset
        803511   0.89%      0.016  hyb_shared_flush [iwarp_hybrid]
        783774   0.86%      0.016  hyb_rx_fast [iwarp_hybrid]
        675944   0.75%      0.013  hyb_rx_run [iwarp_hybrid]
        632244   0.70%      0.013  tcp_v4_rcv
        624023   0.69%      0.012  sdp_shared_consume [sdp]
        547396   0.60%      0.011  do_tcp_sendpages
        537637   0.59%      0.011  hyb_shared_lay [iwarp_hybrid]
        497330   0.55%      0.010  psi_group_change
        474936   0.52%      0.009  __ip_queue_xmit
        416755   0.46%      0.008  __schedule
        413256   0.46%      0.008  __netif_receive_skb_core.constprop.0
        406104   0.45%      0.008  tcp_write_xmit
        397188   0.44%      0.008  __dev_queue_xmit
        392130   0.43%      0.008  __rcu_read_lock
        386512   0.43%      0.008  __kmem_cache_alloc_node
        374676   0.41%      0.007  __rcu_read_unlock
        366996   0.40%      0.007  ip_rcv_core
        358737   0.40%      0.007  __update_load_avg_se
        347474   0.38%      0.007  ip_finish_output2
        341270   0.38%      0.007  tcp_established_options
        337308   0.37%      0.007  sdp_shared_rx [sdp]
        324666   0.36%      0.006  hyb_rx_bulk [iwarp_hybrid]
        323820   0.36%      0.006  kmem_cache_alloc_node
        318830   0.35%      0.006  tcp_rcv_established
        303834   0.34%      0.006  __alloc_skb
        296064   0.33%      0.006  __inet_lookup_established
        290581   0.32%      0.006  __mod_timer
        281690   0.31%      0.006  update_load_avg
        256599   0.28%      0.005  __kmem_cache_free
        255972   0.28%      0.005  tcp_v4_early_demux
        253764   0.28%      0.005  netif_skb_features
        243636   0.27%      0.005  ip_rcv_finish_core.constprop.0
        239464   0.26%      0.005  ktime_get
        237468   0.26%      0.005  __tcp_select_window
        233204   0.26%      0.005  __update_load_avg_cfs_rq
        229890   0.25%      0.005  hyb_xmit_queue [iwarp_hybrid]
        228216   0.25%      0.005  ip_output
        228042   0.25%      0.005  sdp_recvmsg_locked [sdp]
        226555   0.25%      0.005  sdp_pages_add [sdp]
        225406   0.25%      0.004  hyb_fpdu_give [iwarp_hybrid]
        221092   0.24%      0.004  tcp_current_mss
        220602   0.24%      0.004  hyb_shared_add [iwarp_hybrid]
        218622   0.24%      0.004  kmem_cache_free
        213164   0.24%      0.004  skb_release_data
        209604   0.23%      0.004  validate_xmit_skb
        205459   0.23%      0.004  __local_bh_enable_ip
        202512   0.22%      0.004  enqueue_to_backlog
        202455   0.22%      0.004  __switch_to_asm
        198431   0.22%      0.004  __switch_to
        194292   0.21%      0.004  veth_xmit [veth]
        194292   0.21%      0.004  dev_hard_start_xmit
        193875   0.21%      0.004  tcp_data_queue
        191208   0.21%      0.004  inet_ehashfn
        189852   0.21%      0.004  [user]
        188328   0.21%      0.004  hyb_rx_bulk_end [iwarp_hybrid]
        185040   0.20%      0.004  ipv4_dst_check
        182625   0.20%      0.004  __static_call_text_end
        179780   0.20%      0.004  update_curr
        176641   0.19%      0.004  pick_next_task_fair
        176044   0.19%      0.003  psi_task_switch
        176014   0.19%      0.003  try_to_wake_up
        173840   0.19%      0.003  _raw_spin_lock_irqsave
        169640   0.19%      0.003  __list_del_entry_valid
        169620   0.19%      0.003  ip_skb_dst_mtu
        166464   0.18%      0.003  __dev_forward_skb2
        166084   0.18%      0.003  enqueue_entity
        163452   0.18%      0.003  raw_local_deliver
        162318   0.18%      0.003  process_backlog
        154200   0.17%      0.003  tcp_v4_fill_cb
        153750   0.17%      0.003  native_sched_clock
        151900   0.17%      0.003  ipv4_mtu
        148032   0.16%      0.003  ip_rcv
        146311   0.16%      0.003  __sk_mem_raise_allocated
        144879   0.16%      0.003  tcp_schedule_loss_probe.part.0
        139684   0.15%      0.003  tcp_ack_update_rtt
        138780   0.15%      0.003  __ip_local_out
        132612   0.15%      0.003  tcp_v4_do_rcv
        132612   0.15%      0.003  tcp_options_write
        132612   0.15%      0.003  tcp_inbound_md5_hash
        126444   0.14%      0.003  skb_network_protocol
        126444   0.14%      0.003  sk_filter_trim_cap
        125622   0.14%      0.002  memcg_slab_post_alloc_hook
        122304   0.13%      0.002  hyb_cur_piece [iwarp_hybrid]
        121440   0.13%      0.002  hyb_rx_shared_flush [iwarp_hybrid]
        121030   0.13%      0.002  dequeue_entity
        120922   0.13%      0.002  dequeue_task_fair
        120276   0.13%      0.002  nf_hook_slow
        120276   0.13%      0.002  kmalloc_reserve
        118619   0.13%      0.002  rcu_note_context_switch
        118496   0.13%      0.002  hyb_fpdu_sendpage [iwarp_hybrid]
        118104   0.13%      0.002  tcp_read_done
        118008   0.13%      0.002  psi_flags_change
        117776   0.13%      0.002  __list_add_valid
        117691   0.13%      0.002  switch_mm_irqs_off
        117354   0.13%      0.002  kmalloc_slab
        117192   0.13%      0.002  eth_type_trans
        116385   0.13%      0.002  exit_to_user_mode_prepare
        114172   0.13%      0.002  handle_softirqs
        113739   0.13%      0.002  kfree
        112752   0.12%      0.002  hyb_fpdu_seal [iwarp_hybrid]
        112548   0.12%      0.002  __ip_finish_output
        112410   0.12%      0.002  sdp_rx_nothing [sdp]
        108278   0.12%      0.002  hyb_shared_deliver [iwarp_hybrid]
        107226   0.12%      0.002  __copy_skb_header
        104856   0.12%      0.002  ip_protocol_deliver_rcu
        104856   0.12%      0.002  __kmalloc_node_track_caller
        104590   0.12%      0.002  _raw_spin_unlock_irqrestore
        101772   0.11%      0.002  security_sock_rcv_skb
        101772   0.11%      0.002  ip_local_deliver_finish
        101772   0.11%      0.002  bpf_skops_write_hdr_opt.isra.0
        100944   0.11%      0.002  hyb_cur_page.isra.0 [iwarp_hybrid]
         99668   0.11%      0.002  neigh_resolve_output
         99072   0.11%      0.002  __rseq_handle_notify_resume
         99063   0.11%      0.002  hyb_shared_place_len [iwarp_hybrid]
         98688   0.11%      0.002  __netif_receive_skb_one_core
         96348   0.11%      0.002  tcp_recv_skb
         95976   0.11%      0.002  sdp_sendmsg_locked [sdp]
         95327   0.11%      0.002  tcp_send_mss
         95324   0.11%      0.002  tcp_event_data_recv
         94520   0.10%      0.002  finish_task_switch.isra.0
         93806   0.10%      0.002  enqueue_task_fair
         93646   0.10%      0.002  hyb_cur_fill [iwarp_hybrid]
         93051   0.10%      0.002  __wake_up_common
         93026   0.10%      0.002  tcp_rate_gen
         92520   0.10%      0.002  __build_skb_around
         92160   0.10%      0.002  hyb_stream_next_page [iwarp_hybrid]
         92106   0.10%      0.002  hyb_link_reserve [iwarp_hybrid]
         91797   0.10%      0.002  lock_timer_base
         91686   0.10%      0.002  __skb_clone
         90985   0.10%      0.002  check_preempt_wakeup
         90579   0.10%      0.002  cache_from_obj
         89010   0.10%      0.002  hyb_link_commit [iwarp_hybrid]
         88238   0.10%      0.002  tcp_skb_entail
         86352   0.10%      0.002  hyb_off_leaves [iwarp_hybrid]
         85692   0.09%      0.002  sdp_rx_turn [sdp]
         85140   0.09%      0.002  hyb_tx_run [iwarp_hybrid]
         83845   0.09%      0.002  set_next_entity
         83742   0.09%      0.002  update_rq_clock
         83268   0.09%      0.002  ip_local_deliver
         82203   0.09%      0.002  __wake_up_common_lock
         80328   0.09%      0.002  skb_release_head_state
         79945   0.09%      0.002  detach_if_pending
         78988   0.09%      0.002  ttwu_do_activate
         78714   0.09%      0.002  hyb_shared_mode [iwarp_hybrid]
         78378   0.09%      0.002  hyb_sched_run [iwarp_hybrid]
         77943   0.09%      0.002  tcp_wfree
         77400   0.09%      0.002  net_rx_action
         77400   0.09%      0.002  __sys_sendto
         77220   0.09%      0.002  __sys_recvfrom
         77207   0.09%      0.002  pick_next_entity
         77100   0.09%      0.002  tcp_v4_send_check
         77100   0.09%      0.002  skb_scrub_packet
         76634   0.08%      0.002  enqueue_timer
         75166   0.08%      0.001  _raw_spin_lock
         74688   0.08%      0.001  update_min_vruntime
         74304   0.08%      0.001  __sk_mem_reduce_allocated
         74016   0.08%      0.001  ip_send_check
         74016   0.08%      0.001  ip_local_out
         74016   0.08%      0.001  __sk_dst_check
         71288   0.08%      0.001  get_nohz_timer_target
         70932   0.08%      0.001  netdev_core_pick_tx
         70054   0.08%      0.001  put_prev_entity
         69309   0.08%      0.001  skb_push
         68640   0.08%      0.001  sdp_shared_copy [sdp]
         68376   0.08%      0.001  tcp_queue_rcv
         67040   0.07%      0.001  hyb_rx_head [iwarp_hybrid]
         67032   0.07%      0.001  tcp_tso_segs
         66976   0.07%      0.001  tcp_sendpage_locked
         66048   0.07%      0.001  hyb_stream_pass [iwarp_hybrid]
         65268   0.07%      0.001  aa_sk_perm
         64944   0.07%      0.001  entry_SYSCALL_64
         64764   0.07%      0.001  validate_xmit_xfrm
         64764   0.07%      0.001  netif_rx_internal
         64428   0.07%      0.001  _raw_spin_unlock
         64386   0.07%      0.001  eth_header
         64064   0.07%      0.001  iwarp_crc_begin [libiwarp]
         62260   0.07%      0.001  __sk_mem_schedule
         61305   0.07%      0.001  tcp_event_new_data_sent
         60966   0.07%      0.001  tcp_rearm_rto
         60931   0.07%      0.001  sdp_srx_gather [sdp]
         60450   0.07%      0.001  release_sock
         59889   0.07%      0.001  iov_iter_advance
         59052   0.07%      0.001  tcp_update_skb_after_send
         58860   0.06%      0.001  kfree_skbmem
         58596   0.06%      0.001  skb_csum_hwoffload_help
         58239   0.06%      0.001  tcp_wmem_schedule
         58140   0.06%      0.001  __tcp_send_ack.part.0
         57600   0.06%      0.001  tcp_rate_skb_delivered
         57498   0.06%      0.001  sdp_rx_wake [sdp]
         56832   0.06%      0.001  hyb_pool_settle [iwarp_hybrid]
         56502   0.06%      0.001  sdp_sendmsg [sdp]
         55663   0.06%      0.001  tcp_stream_alloc_skb
         55656   0.06%      0.001  tcp_mstamp_refresh
         55584   0.06%      0.001  sk_forced_mem_schedule
         54419   0.06%      0.001  schedule
         54333   0.06%      0.001  tcp_chrono_stop
         54030   0.06%      0.001  __usecs_to_jiffies
         53508   0.06%      0.001  place_entity
         53406   0.06%      0.001  sdp_parse_msg [sdp]
         53244   0.06%      0.001  __fget_light
         52428   0.06%      0.001  skb_clone_tx_timestamp
         52428   0.06%      0.001  ip_finish_output
         51520   0.06%      0.001  tcp_tx_timestamp
         51282   0.06%      0.001  hyb_cur_enter [iwarp_hybrid]
         51250   0.06%      0.001  sched_clock_cpu
         50886   0.06%      0.001  save_fpregs_to_fpstate
         50592   0.06%      0.001  sdp_pages_full [sdp]
         49224   0.05%      0.001  tcp_rate_skb_sent
         49161   0.05%      0.001  _raw_spin_lock_bh
         49104   0.05%      0.001  do_syscall_64
         48379   0.05%      0.001  rb_erase
         47988   0.05%      0.001  tcp_grow_window
         47616   0.05%      0.001  sdp_zc_recv [sdp]
         46620   0.05%      0.001  skb_clone
         46620   0.05%      0.001  skb_attempt_defer_free
         46368   0.05%      0.001  hyb_sg_given [iwarp_hybrid]
         44718   0.05%      0.001  load_new_mm_cr3
         44370   0.05%      0.001  minmax_running_min
         43551   0.05%      0.001  record_times
         43351   0.05%      0.001  memcpy
         43344   0.05%      0.001  mem_cgroup_handle_over_high
         43316   0.05%      0.001  psi_task_change
         42921   0.05%      0.001  tcp_update_pacing_rate
         42138   0.05%      0.001  _raw_spin_unlock_bh
         41958   0.05%      0.001  import_single_range
         41877   0.05%      0.001  tcp_urg
         41796   0.05%      0.001  hyb_shared_quota [iwarp_hybrid]
         41742   0.05%      0.001  tcp_check_space
         41184   0.05%      0.001  syscall_return_via_sysret
         40902   0.05%      0.001  rb_next
         40768   0.04%      0.001  ttwu_queue_wakelist
         40413   0.04%      0.001  do_softirq.part.0
         40404   0.04%      0.001  tcp_small_queue_check.isra.0
         40248   0.04%      0.001  blkcg_maybe_throttle_current
         40092   0.04%      0.001  restore_fpregs_from_fpstate
         40092   0.04%      0.001  kmalloc_size_roundup
         39612   0.04%      0.001  x64_sys_call
         39000   0.04%      0.001  sdp_recvmsg [sdp]
         38290   0.04%      0.001  tcp_rcv_space_adjust
         37880   0.04%      0.001  sdp_stx_record [sdp]
         37296   0.04%      0.001  sock_rfree
         37200   0.04%      0.001  lock_sock_nested
         37152   0.04%      0.001  security_socket_sendmsg
         37008   0.04%      0.001  switch_fpu_return
         36630   0.04%      0.001  tcp_tasklet_func
         36432   0.04%      0.001  entry_SYSCALL_64_after_hwframe
         36378   0.04%      0.001  sdp_conn_count [sdp]
         35457   0.04%      0.001  hyb_rx_fpdu [iwarp_hybrid]
         35033   0.04%      0.001  clear_buddies
         34803   0.04%      0.001  hyb_stream_look [iwarp_hybrid]
         34188   0.04%      0.001  sockfd_lookup_light
         33924   0.04%      0.001  tcp_parse_md5sig_option
         33924   0.04%      0.001  hyb_ooo_sent [iwarp_hybrid]
         33924   0.04%      0.001  __netif_rx
         33924   0.04%      0.001  __kfree_skb
         33540   0.04%      0.001  security_socket_recvmsg
         33501   0.04%      0.001  cpuacct_charge
         33190   0.04%      0.001  check_spread.isra.0
         32592   0.04%      0.001  hyb_qp_notify [iwarp_hybrid]
         32590   0.04%      0.001  read_tsc
         32032   0.04%      0.001  iwarp_crc_end [libiwarp]
         31957   0.04%      0.001  rb_insert_color
         31071   0.03%      0.001  sock_def_readable
         30712   0.03%      0.001  tcp_push
         30339   0.03%      0.001  _raw_spin_lock_irq
         30141   0.03%      0.001  hyb_stream_rewind [iwarp_hybrid]
         30069   0.03%      0.001  add_wait_queue
         29520   0.03%      0.001  tcp_rate_check_app_limited
         29412   0.03%      0.001  sdp_rx_payload [sdp]
         28956   0.03%      0.001  skb_gso_validate_network_len
         28956   0.03%      0.001  skb_gso_transport_seglen
         28350   0.03%      0.001  sk_reset_timer
         28025   0.03%      0.001  calc_wheel_index
         27972   0.03%      0.001  sdp_rx_ready [sdp]
         27756   0.03%      0.001  skb_free_head
         27693   0.03%      0.001  tcp_downgrade_zcopy_pure
         27606   0.03%      0.001  cubictcp_cong_avoid
         27090   0.03%      0.001  sdp_rx_taken [sdp]
         26808   0.03%      0.001  _raw_spin_unlock_irq
         26754   0.03%      0.001  ttwu_do_wakeup
         26730   0.03%      0.001  tasklet_action_common.constprop.0
         26418   0.03%      0.001  sdp_shared_rx_done [sdp]
         26316   0.03%      0.001  sdp_rx_dispatch [sdp]
         26316   0.03%      0.001  hyb_sq_pending [iwarp_hybrid]
         26214   0.03%      0.001  sdp_zc_offer [sdp]
         26199   0.03%      0.001  tcp_replace_ts_recent
         26139   0.03%      0.001  cubictcp_acked
         26061   0.03%      0.001  tcp_rack_update_reo_wnd
         25719   0.03%      0.001  tcp_rack_advance
         25542   0.03%      0.001  sdp_stream_memory_free [sdp]
         25542   0.03%      0.001  sdp_qp_set_ip [sdp]
         25355   0.03%      0.001  rb_first
         25344   0.03%      0.001  syscall_enter_from_user_mode
         24904   0.03%      0.000  sk_leave_memory_pressure
         24864   0.03%      0.000  tcp_cleanup_rbuf
         24864   0.03%      0.000  hyb_tcp_data_ready [iwarp_hybrid]
         24768   0.03%      0.000  tomoyo_socket_sendmsg_permission
         24672   0.03%      0.000  sock_put
         24204   0.03%      0.000  check_preempt_curr
         24054   0.03%      0.000  schedule_timeout
         23994   0.03%      0.000  sdp_rx_check [sdp]
         23994   0.03%      0.000  hyb_stream_mss [iwarp_hybrid]
         23184   0.03%      0.000  hyb_sg_find [iwarp_hybrid]
         22950   0.03%      0.000  __sock_wfree
         22904   0.03%      0.000  tcp_rbtree_insert
         22446   0.02%      0.000  hyb_sched_leave [iwarp_hybrid]
         22446   0.02%      0.000  hyb_link_append [iwarp_hybrid]
         21780   0.02%      0.000  wake_up_var
         21756   0.02%      0.000  tcp_stream_memory_free
         21672   0.02%      0.000  hyb_sched_enter [iwarp_hybrid]
         21588   0.02%      0.000  tcp_filter
         21588   0.02%      0.000  apparmor_socket_sock_rcv_skb
         20937   0.02%      0.000  should_failslab
         20898   0.02%      0.000  __napi_poll
         20450   0.02%      0.000  native_load_tls
         20280   0.02%      0.000  sock_recvmsg
         20202   0.02%      0.000  hyb_sched_callback [iwarp_hybrid]
         20124   0.02%      0.000  hyb_shared_tx_done [iwarp_hybrid]
         20046   0.02%      0.000  remove_wait_queue
         19350   0.02%      0.000  __sock_sendmsg
         19008   0.02%      0.000  syscall_exit_to_user_mode_prepare
         18504   0.02%      0.000  xfd_validate_state
         18504   0.02%      0.000  tcp_in_ack_event
         18504   0.02%      0.000  apparmor_ip_postroute
         18378   0.02%      0.000  ktime_get_seconds
         17733   0.02%      0.000  wait_woken
         17424   0.02%      0.000  syscall_exit_to_user_mode
         17094   0.02%      0.000  tcp_data_ready
         17094   0.02%      0.000  hyb_shared_rx_done [iwarp_hybrid]
         17050   0.02%      0.000  kmalloc_trace
         17028   0.02%      0.000  hyb_fpdu_queued [iwarp_hybrid]
         16962   0.02%      0.000  switch_ldt
         16896   0.02%      0.000  sdp_block_alloc [sdp]
         16588   0.02%      0.000  _find_first_bit
         16443   0.02%      0.000  tcp_ack_tstamp
         16360   0.02%      0.000  check_cfs_rq_runtime
         16068   0.02%      0.000  __tcp_cleanup_rbuf
         15565   0.02%      0.000  tcp_leave_memory_pressure
         15480   0.02%      0.000  __get_user_8
         15426   0.02%      0.000  update_cfs_group
         15330   0.02%      0.000  tcp_newly_delivered
         15202   0.02%      0.000  cubictcp_cwnd_event
         15163   0.02%      0.000  num_to_str
         14598   0.02%      0.000  __cond_resched
         14499   0.02%      0.000  tcp_chrono_start
         14058   0.02%      0.000  seq_put_decimal_ull_width
         13986   0.02%      0.000  sk_free
         13968   0.02%      0.000  hyb_cq_notify [iwarp_hybrid]
         13932   0.02%      0.000  sdp_shared_sent [sdp]
         13932   0.02%      0.000  sdp_put_bsdh [sdp]
         13932   0.02%      0.000  sdp_get_bsdh [sdp]
         13932   0.02%      0.000  hyb_off_free_acked [iwarp_hybrid]
         13878   0.02%      0.000  set_next_buddy
         13878   0.02%      0.000  cr4_update_irqsoff
         13860   0.02%      0.000  __tasklet_schedule_common
