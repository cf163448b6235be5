# SPDX-License-Identifier: GPL-2.0
# make profile, kernel 6.1: see Documentation/performance.rst
     234385842 100.00%      4.657  total
      22212014   9.48%      0.441  csum_partial
      17479750   7.46%      0.347  iwarp_crc_x86 [libiwarp]
      12468495   5.32%      0.248  hnic_conn_rx [hnic]
      10715712   4.57%      0.213  rht_key_get_hash.constprop.0 [hnic]
       9575861   4.09%      0.190  sdp_shared_send [sdp]
       9434304   4.03%      0.187  sdp_frags_put [sdp]
       8136918   3.47%      0.162  memcpy
       7206218   3.07%      0.143  hnic_conn_tx [hnic]
       6357611   2.71%      0.126  dev_gro_receive
       6305504   2.69%      0.125  hnic_conn_find [hnic]
       5564301   2.37%      0.111  inet_gro_receive
       5314010   2.27%      0.106  tcp_gro_receive
       5215840   2.23%      0.104  hnic_pkt_parse [hnic]
       4630479   1.98%      0.092  skb_gro_receive
       4142793   1.77%      0.082  hyb_rx_bulk [iwarp_hybrid]
       3458139   1.48%      0.069  hnic_rx_run [hnic]
       3426112   1.46%      0.068  memcmp
       3160495   1.35%      0.063  hnic_tx_tso [hnic]
       2883760   1.23%      0.057  hnic_pkt_sum [hnic]
       2704589   1.15%      0.054  napi_gro_frags
       2673836   1.14%      0.053  hyb_shared_seal_bulk.isra.0 [iwarp_hybrid]
       2614632   1.12%      0.052  hnic_pkt_pay_len [hnic]
       2551360   1.09%      0.051  hnic_dma_done [hnic]
       2543204   1.09%      0.051  hyb_shared_lay_bulk [iwarp_hybrid]
       2406910   1.03%      0.048  hnic_dma_read [hnic]
       2354134   1.00%      0.047  hnic_pkt_alloc [hnic]
       1822400   0.78%      0.036  hnic_pkt_tuple [hnic]
       1798340   0.77%      0.036  hnic_pkt_seq [hnic]
       1731680   0.74%      0.034  hnic_poll [hnic]
       1457920   0.62%      0.029  hnic_tx_emit [hnic]
       1426053   0.61%      0.028  psi_group_change
       1421472   0.61%      0.028  hnic_rx_skb [hnic]
       1325039   0.57%      0.026  hnic_list_pop [hnic]
       1287540   0.55%      0.026  iwarp_crc32c [libiwarp]
       1215931   0.52%      0.024  napi_reuse_skb
       1166336   0.50%      0.023  tcp4_gro_receive
       1069200   0.46%      0.021  skb_add_rx_frag
        984096   0.42%      0.020  hnic_list_add [hnic]
        909596   0.39%      0.018  hnic_place_sent [hnic]
        894792   0.38%      0.018  ip_send_check
        869721   0.37%      0.017  __update_load_avg_se
        848058   0.36%      0.017  sdp_pages_bulk.isra.0 [sdp]
        847941   0.36%      0.017  gro_pull_from_frag0
        846563   0.36%      0.017  __schedule
        816400   0.35%      0.016  skb_release_data
        672420   0.29%      0.013  _raw_spin_lock
        619850   0.26%      0.012  update_load_avg
        617246   0.26%      0.012  __rcu_read_unlock
        611968   0.26%      0.012  tcp_ack
        605747   0.26%      0.012  sdp_shared_consume [sdp]
        593392   0.25%      0.012  __update_load_avg_cfs_rq
        587172   0.25%      0.012  _raw_spin_unlock
        583168   0.25%      0.012  hnic_rx_put.constprop.0 [hnic]
        566401   0.24%      0.011  memset
        531884   0.23%      0.011  hyb_shared_lay [iwarp_hybrid]
        527180   0.22%      0.010  __list_del_entry_valid
        512754   0.22%      0.010  __rcu_read_lock
        511851   0.22%      0.010  __tcp_transmit_skb
        500004   0.21%      0.010  clear_page_rep
        496843   0.21%      0.010  enqueue_entity
        466391   0.20%      0.009  try_to_wake_up
        463320   0.20%      0.009  hnic_pkt_set_len [hnic]
        460227   0.20%      0.009  hnic_wire_take [hnic]
        450015   0.19%      0.009  do_tcp_sendpages
        449030   0.19%      0.009  update_curr
        437376   0.19%      0.009  hnic_pkt_to [hnic]
        435630   0.19%      0.009  native_sched_clock
        433704   0.19%      0.009  __list_add_valid
        430127   0.18%      0.009  hyb_shared_flush [iwarp_hybrid]
        428094   0.18%      0.009  tcp_v4_rcv
        411995   0.18%      0.008  ktime_get
        406134   0.17%      0.008  hyb_rx_run [iwarp_hybrid]
        403920   0.17%      0.008  __switch_to_asm
        403387   0.17%      0.008  tcp_write_xmit
        392106   0.17%      0.008  hnic_pkt_csum [hnic]
        375936   0.16%      0.007  __switch_to
        374007   0.16%      0.007  psi_task_switch
        360470   0.15%      0.007  hnic_place_track [hnic]
        359601   0.15%      0.007  dequeue_task_fair
        356460   0.15%      0.007  hnic_link_chance [hnic]
        351333   0.15%      0.007  pick_next_task_fair
        344565   0.15%      0.007  dequeue_entity
        322604   0.14%      0.006  __local_bh_enable_ip
        280116   0.12%      0.006  __slab_free
        279463   0.12%      0.006  kmem_cache_free
        272690   0.12%      0.005  __netif_receive_skb_core.constprop.0
        269311   0.11%      0.005  check_preempt_wakeup
        261298   0.11%      0.005  __dev_queue_xmit
        259248   0.11%      0.005  psi_flags_change
        256971   0.11%      0.005  hyb_rx_fast [iwarp_hybrid]
        256086   0.11%      0.005  enqueue_task_fair
        255136   0.11%      0.005  hnic_pkt_csum_good [hnic]
        253022   0.11%      0.005  __ip_queue_xmit
        244787   0.10%      0.005  tcp_established_options
        236060   0.10%      0.005  ip_rcv_core
        233028   0.10%      0.005  rcu_note_context_switch
        227839   0.10%      0.005  update_rq_clock
        224697   0.10%      0.004  tcp_rcv_established
        224688   0.10%      0.004  ttwu_do_activate
        222288   0.09%      0.004  __napi_alloc_skb
        218834   0.09%      0.004  __tcp_select_window
        218565   0.09%      0.004  __static_call_text_end
        216702   0.09%      0.004  update_min_vruntime
        216584   0.09%      0.004  copy_user_generic_string
        214301   0.09%      0.004  napi_get_frags
        205228   0.09%      0.004  hnic_tx_run [hnic]
        205145   0.09%      0.004  __kmem_cache_alloc_node
        197470   0.08%      0.004  tcp_current_mss
        195360   0.08%      0.004  __inet_lookup_established
        194993   0.08%      0.004  hyb_fpdu_give [iwarp_hybrid]
        190219   0.08%      0.004  hnic_link_send [hnic]
        188762   0.08%      0.004  netif_receive_skb_list_internal
        187482   0.08%      0.004  finish_task_switch.isra.0
        185936   0.08%      0.004  get_page_from_freelist
        182835   0.08%      0.004  __napi_build_skb
        181259   0.08%      0.004  ip_finish_output2
        181170   0.08%      0.004  __netif_receive_skb_list_core
        178576   0.08%      0.004  ip_sublist_rcv
        178482   0.08%      0.004  __mod_timer
        171682   0.07%      0.003  kmem_cache_alloc_node
        170823   0.07%      0.003  sdp_shared_rx [sdp]
        166609   0.07%      0.003  sdp_pages_add [sdp]
        166434   0.07%      0.003  set_next_entity
        164391   0.07%      0.003  __fq_codel_dequeue
        163104   0.07%      0.003  _raw_spin_lock_irqsave
        161933   0.07%      0.003  __alloc_skb
        160485   0.07%      0.003  [user]
        160405   0.07%      0.003  hyb_stream_next_page [iwarp_hybrid]
        160396   0.07%      0.003  ip_rcv_finish_core.constprop.0
        158234   0.07%      0.003  hyb_rx_bulk_end [iwarp_hybrid]
        158202   0.07%      0.003  __sk_mem_raise_allocated
        157373   0.07%      0.003  hyb_off_ring_add [iwarp_hybrid]
        156962   0.07%      0.003  sch_direct_xmit
        156840   0.07%      0.003  __build_skb_around
        154335   0.07%      0.003  ip_list_rcv
        154177   0.07%      0.003  tcp_data_queue
        153559   0.07%      0.003  pick_next_entity
        152208   0.06%      0.003  place_entity
        145200   0.06%      0.003  sched_clock_cpu
        142975   0.06%      0.003  ipv4_mtu
        138278   0.06%      0.003  tcp_v4_early_demux
        136047   0.06%      0.003  netif_skb_features
        132395   0.06%      0.003  handle_softirqs
        131720   0.06%      0.003  __kmem_cache_free
        129497   0.06%      0.003  cache_from_obj
        129315   0.06%      0.003  record_times
        127596   0.05%      0.003  __qdisc_run
        126170   0.05%      0.003  inet_ehashfn
        123700   0.05%      0.002  ipv4_dst_check
        123216   0.05%      0.002  psi_task_change
        122832   0.05%      0.002  hnic_list_purge [hnic]
        121582   0.05%      0.002  ip_output
        119317   0.05%      0.002  hyb_xmit_queue [iwarp_hybrid]
        118548   0.05%      0.002  validate_xmit_skb
        118346   0.05%      0.002  hyb_tx_run [iwarp_hybrid]
        117576   0.05%      0.002  sdp_recvmsg_locked [sdp]
        116216   0.05%      0.002  hyb_shared_quota [iwarp_hybrid]
        115968   0.05%      0.002  ttwu_queue_wakelist
        114733   0.05%      0.002  rb_erase
        110808   0.05%      0.002  sdp_sendmsg_locked [sdp]
        110332   0.05%      0.002  hnic_xmit [hnic]
        108810   0.05%      0.002  schedule
        108776   0.05%      0.002  napi_complete_done
        107855   0.05%      0.002  raw_local_deliver
        106592   0.05%      0.002  dev_hard_start_xmit
        105812   0.05%      0.002  hyb_link_append [iwarp_hybrid]
        105230   0.04%      0.002  hyb_off_payload [iwarp_hybrid]
        103598   0.04%      0.002  skb_release_head_state
        103516   0.04%      0.002  hyb_off_ring_acked [iwarp_hybrid]
        102828   0.04%      0.002  hyb_fpdu_leave [iwarp_hybrid]
        102128   0.04%      0.002  hyb_link_commit [iwarp_hybrid]
        101750   0.04%      0.002  tcp_v4_fill_cb
        100224   0.04%      0.002  kmem_cache_alloc_bulk
        100074   0.04%      0.002  napi_threaded_poll
         99664   0.04%      0.002  put_prev_entity
         99114   0.04%      0.002  hyb_shared_place_len [iwarp_hybrid]
         96030   0.04%      0.002  _raw_spin_unlock_irqrestore
         95957   0.04%      0.002  hyb_off_validate [iwarp_hybrid]
         95645   0.04%      0.002  tcp_v4_do_rcv
         95559   0.04%      0.002  hyb_shared_add [iwarp_hybrid]
         94497   0.04%      0.002  cpuacct_charge
         94224   0.04%      0.002  __alloc_pages
         93766   0.04%      0.002  tcp_schedule_loss_probe.part.0
         93730   0.04%      0.002  rb_insert_color
         92598   0.04%      0.002  hyb_fpdu_sendpage [iwarp_hybrid]
         90365   0.04%      0.002  ip_skb_dst_mtu
         88476   0.04%      0.002  tcp_check_space
         87505   0.04%      0.002  tcp_inbound_md5_hash
         85755   0.04%      0.002  hnic_engine_fn [hnic]
         83435   0.04%      0.002  sk_filter_trim_cap
         79438   0.03%      0.002  napi_gro_complete.constprop.0
         78850   0.03%      0.002  ___slab_alloc
         78848   0.03%      0.002  free_unref_page
         78404   0.03%      0.002  tcp_read_done
         77903   0.03%      0.002  hyb_off_ring_pop [iwarp_hybrid]
         77400   0.03%      0.002  __sys_sendto
         77330   0.03%      0.002  eth_type_trans
         77040   0.03%      0.002  check_spread.isra.0
         76824   0.03%      0.002  hyb_cur_piece [iwarp_hybrid]
         76104   0.03%      0.002  ttwu_do_wakeup
         74757   0.03%      0.001  tcp_event_data_recv
         74496   0.03%      0.001  tcp_send_mss
         74481   0.03%      0.001  __napi_poll
         73935   0.03%      0.001  __ip_local_out
         72546   0.03%      0.001  tcp_small_queue_check.isra.0
         70649   0.03%      0.001  tcp_options_write
         70593   0.03%      0.001  hyb_rx_shared_flush [iwarp_hybrid]
         70498   0.03%      0.001  ip_sublist_rcv_finish
         70398   0.03%      0.001  memcg_slab_post_alloc_hook
         69551   0.03%      0.001  __napi_schedule
         69531   0.03%      0.001  hyb_stream_pass [iwarp_hybrid]
         69251   0.03%      0.001  _raw_spin_lock_bh
         69190   0.03%      0.001  ip_protocol_deliver_rcu
         69020   0.03%      0.001  hyb_off_ring_room [iwarp_hybrid]
         68949   0.03%      0.001  kthread_should_stop
         68736   0.03%      0.001  kfree
         68088   0.03%      0.001  hyb_shared_deliver [iwarp_hybrid]
         67738   0.03%      0.001  hyb_sched_run [iwarp_hybrid]
         67636   0.03%      0.001  hyb_off_leaves [iwarp_hybrid]
         67363   0.03%      0.001  skb_network_protocol
         67320   0.03%      0.001  __sk_mem_schedule
         67156   0.03%      0.001  clear_buddies
         67155   0.03%      0.001  security_sock_rcv_skb
         66419   0.03%      0.001  check_preempt_curr
         65964   0.03%      0.001  sdp_rx_nothing [sdp]
         64517   0.03%      0.001  page_frag_free
         64454   0.03%      0.001  sdp_shared_copy [sdp]
         64077   0.03%      0.001  nf_hook_slow
         64077   0.03%      0.001  kmalloc_reserve
         64044   0.03%      0.001  hyb_shared_mode [iwarp_hybrid]
         63425   0.03%      0.001  tcp_sndbuf_expand
         63271   0.03%      0.001  tcp_recv_skb
         63249   0.03%      0.001  rb_next
         63072   0.03%      0.001  tasklet_action_common.constprop.0
         62615   0.03%      0.001  kmalloc_slab
         62599   0.03%      0.001  tcp_ack_update_rtt
         61203   0.03%      0.001  hnic_tx_after [hnic]
         60772   0.03%      0.001  hrtimer_start_range_ns
         60637   0.03%      0.001  validate_xmit_skb_list
         60078   0.03%      0.001  tcp_tso_segs
         60009   0.03%      0.001  hyb_tcp_data_ready [iwarp_hybrid]
         59983   0.03%      0.001  __ip_finish_output
         59616   0.03%      0.001  __sk_dst_check
         59517   0.03%      0.001  exit_to_user_mode_prepare
         59358   0.03%      0.001  _raw_spin_unlock_bh
         59040   0.03%      0.001  __sk_mem_reduce_allocated
         59015   0.03%      0.001  ip_local_deliver_finish
         58475   0.02%      0.001  read_tsc
         58368   0.02%      0.001  hyb_rx_head [iwarp_hybrid]
         58029   0.02%      0.001  __copy_skb_header
         57196   0.02%      0.001  tcp_queue_rcv
         56502   0.02%      0.001  sdp_sendmsg [sdp]
         56329   0.02%      0.001  __wake_up_common
         55862   0.02%      0.001  __kmalloc_node_track_caller
         55552   0.02%      0.001  free_unref_page_commit
         54945   0.02%      0.001  ip_local_deliver
         54222   0.02%      0.001  skb_free_head
         54219   0.02%      0.001  bpf_skops_write_hdr_opt.isra.0
         54167   0.02%      0.001  hyb_cur_fill [iwarp_hybrid]
         53910   0.02%      0.001  kfree_skbmem
         53837   0.02%      0.001  dql_completed
         53085   0.02%      0.001  iov_iter_advance
         52384   0.02%      0.001  neigh_resolve_output
         52338   0.02%      0.001  tcp_sendpage_locked
         52038   0.02%      0.001  aa_sk_perm
         52029   0.02%      0.001  entry_SYSCALL_64
         51392   0.02%      0.001  wake_up_var
         51270   0.02%      0.001  tcp_wmem_schedule
         50933   0.02%      0.001  hyb_off_plain [iwarp_hybrid]
         49780   0.02%      0.001  tcp_wfree
         49619   0.02%      0.001  __skb_clone
         49555   0.02%      0.001  __wake_up_common_lock
         49280   0.02%      0.001  free_pcp_prepare
         49252   0.02%      0.001  cmpxchg_double_slab.constprop.0.isra.0
         47812   0.02%      0.001  tcp_rate_skb_delivered
         47346   0.02%      0.001  release_sock
         47333   0.02%      0.001  hyb_off_room [iwarp_hybrid]
         47125   0.02%      0.001  _find_first_bit
         46893   0.02%      0.001  hnic_features_check [hnic]
         46035   0.02%      0.001  __sys_recvfrom
         45898   0.02%      0.001  __pskb_trim_head
         45848   0.02%      0.001  napi_consume_skb
         45786   0.02%      0.001  __tcp_ack_snd_check
         44910   0.02%      0.001  hnic_list_init [hnic]
         44820   0.02%      0.001  hnic_rx_after [hnic]
         44412   0.02%      0.001  napi_skb_cache_get
         43913   0.02%      0.001  __hrtimer_run_queues
         43860   0.02%      0.001  update_cfs_group
         43632   0.02%      0.001  napi_gro_receive
         43456   0.02%      0.001  net_tx_action
         43454   0.02%      0.001  tcp_rate_gen
         42804   0.02%      0.001  hyb_shared_writeable [iwarp_hybrid]
         42534   0.02%      0.001  __fget_light
         42528   0.02%      0.001  hyb_shared_tx_done [iwarp_hybrid]
         41075   0.02%      0.001  tcp_v4_send_check
         40860   0.02%      0.001  tcp_skb_entail
         40800   0.02%      0.001  native_load_tls
         40608   0.02%      0.001  hyb_cur_enter [iwarp_hybrid]
         40458   0.02%      0.001  inet_gro_complete
         40392   0.02%      0.001  hyb_sq_pending [iwarp_hybrid]
         40260   0.02%      0.001  tcp_tx_timestamp
         39432   0.02%      0.001  ip_local_out
         39424   0.02%      0.001  get_nohz_timer_target
         39339   0.02%      0.001  do_syscall_64
         39162   0.02%      0.001  sdp_stx_record [sdp]
         38980   0.02%      0.001  __usecs_to_jiffies
         38890   0.02%      0.001  hnic_engine_kick [hnic]
         38117   0.02%      0.001  clockevents_program_event
         38112   0.02%      0.001  tcp_rbtree_insert
         38037   0.02%      0.001  tcp_grow_window
         38016   0.02%      0.001  sdp_stream_memory_free [sdp]
         37789   0.02%      0.001  netdev_core_pick_tx
         37632   0.02%      0.001  __rseq_handle_notify_resume
         37152   0.02%      0.001  security_socket_sendmsg
         36960   0.02%      0.001  skb_attempt_defer_free
         36819   0.02%      0.001  skb_push
         36234   0.02%      0.001  hyb_sg_given [iwarp_hybrid]
         35554   0.02%      0.001  tcp4_gro_complete
         35472   0.02%      0.001  hrtimer_interrupt
         35199   0.02%      0.001  tcp_send_delayed_ack
