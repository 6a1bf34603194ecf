/**
 * Names of Salt's options that are not in our tables. They are kept in `opts`, mostly have no effect here, and are not reported as misspelt.
 * Source: names accepted by salt.config of 3006, 3007 and 3008.
 */
const names = `
  add_proxymodule_to_opts allow_undefined append_minionid_config_dirs auth_events_autosign_grains
  auth_events_pend_autosign_grains auth_retries autoload_dynamic_modules azurefs_update_interval
  batch_manager_loop_interval beacons_before_connect bootstrap_delay cache_sreqs clean_dynamic_modules client_acl
  client_acl_blacklist cluster_auto_replace_voters cluster_demote_cooldown cluster_encryption_algorithm
  cluster_isolated_filesystem cluster_key_pass cluster_max_log_size cluster_max_voters
  cluster_min_voters cluster_mode cluster_pki_dir cluster_pub_fingerprint
  cluster_voter_health_check_interval cluster_voter_timeout conf_file cython_enable decrypt_pillar
  decrypt_pillar_default decrypt_pillar_delimiter decrypt_pillar_renderers delete_sshkeys deploy_scripts_search_path
  disable_aes_with_tls disabled_requisites discovery django_auth_path django_auth_settings dummy_pub eauth_acl_module
  eauth_tokens eauth_tokens.cache_driver eauth_tokens.cluster_id enable_gpu_grains enable_hard_maps enable_lspci
  enable_ssh_minions enable_zip_modules environment event_match_type event_publisher_niceness event_return_niceness
  ext_processes extmod_blacklist extmod_whitelist features fileserver_interval fileserver_update_niceness
  fileserver_verify_config git_pillar_depth git_pillar_disable_saltenv_mapping git_pillar_global_lock git_pillar_proxy
  git_pillar_ref_types git_pillar_verify_config gitfs_depth gitfs_global_lock gitfs_proxy global_state_conditions
  gpg_cache gpg_cache_backend gpg_cache_ttl gpg_decrypt_must_succeed grains_blacklist grains_cache_expiration
  grains_dirs grains_refresh_pre_exec halite hgfs_base hgfs_branch_method hgfs_mountpoint hgfs_remotes hgfs_root
  hgfs_saltenv_blacklist hgfs_saltenv_whitelist hgfs_update_interval http_connect_timeout http_max_body
  http_request_timeout id_function ipc_mode keys.cache_driver lazy_loader_strict_matching local lock_saltenv
  log_datefmt log_datefmt_logfile log_dir log_fmt_console log_fmt_jid log_fmt_logfile log_fmt_minion_id
  log_granular_levels log_rotate_backup_count log_rotate_max_bytes maintenance_niceness master_async_mworker
  master_failback master_failback_interval master_mworker_max_inflight master_roots master_shuffle master_stats
  master_stats_event_iter master_tops master_tops_first memcache_debug memcache_expire_seconds memcache_full_cleanup
  memcache_max_items metrics min_extra_mods minion_memory_headroom minion_memory_max minion_restart_command
  minionfs_update_interval modules_max_memory
  multifunc_ordered mworker_niceness mworker_queue_niceness netapi_allow_raw_shell no_proxy on_demand_ext_pillar
  optimization_order os outputter_dirs pass_dir pass_gnupghome pass_strict_fetch pass_to_ext_pillars
  pass_variable_prefix password pillar.cache_driver pillar_cache pillar_cache_backend pillar_cache_ttl
  pillar_includes_override_sls pillar_mask_output pillar_merge_lists pillar_safe_render_error
  pillar_source_merging_strategy pillar_version pillarenv_from_saltenv presence providers proxy proxy_always_alive
  proxy_deep_merge_pillar_in_opts proxy_host proxy_keep_alive proxy_keep_alive_interval proxy_merge_grains_in_module
  proxy_merge_pillar_in_opts proxy_merge_pillar_in_opts_strategy proxy_mines_pillar proxy_password proxy_port
  proxy_username pub_server_niceness pub_server_write_queue_size publish_drain_timeout queue_dirs reactor_niceness
  reactor_refresh_interval regen_thin remote_minions_port render_dirs renderer_blacklist renderer_whitelist
  req_server_niceness resolve_dns_fallback resource_pillar_key rest_tornado rest_wsgi restart_on_error return_batch
  roots_update_interval run_schedule_jobs_in_background s3fs_update_interval saltpip_allow_find_links
  saltpip_disable_pip_version_check saltpip_no_deps saltpip_no_index saltpip_use_pythonpath scheduler_before_connect
  script search serial snapper_states snapper_states_config sqlite_queue_dir ssh_auth ssh_config_file
  ssh_identities_only ssh_keepalive ssh_keepalive_count_max ssh_keepalive_interval ssh_list_nodegroups ssh_log_file
  ssh_merge_pillar ssh_passwd ssh_port ssh_priv_passwd ssh_run_pre_flight ssh_scan_ports ssh_scan_timeout ssh_sudo
  ssh_sudo_user ssh_timeout ssh_use_home_key ssh_user ssl start_action state_compress_ids state_max_parallel
  state_output_diff state_output_pct state_output_profile state_queue states_dirs svnfs_branches svnfs_mountpoint
  svnfs_remotes svnfs_root svnfs_saltenv_blacklist svnfs_saltenv_whitelist svnfs_tags svnfs_trunk
  svnfs_update_interval syndic_event_forward_timeout syndic_failover syndic_finger syndic_jid_forward_cache_hwm
  syndic_log_file syndic_pidfile syndic_retries tcp_authentication_retries tcp_master_pub_port tcp_master_publish_pull
  tcp_master_pull_port tcp_master_workers tcp_pub_port tcp_pull_port tcp_reconnect_backoff test thin_exclude_saltexts
  thin_extra_mods thin_saltext_allowlist thin_saltext_blocklist thorium_interval thorium_roots thorium_top thoriumenv
  top_file tracing transport_opts update_restart_services update_url use_master_when_local use_os_truststore username
  utils_dirs whitelist_state_modules winrepo_branch winrepo_cache_expire_max winrepo_cache_expire_min
  winrepo_cachefile winrepo_depth winrepo_dir winrepo_dir_ng winrepo_fallback winrepo_insecure_auth
  winrepo_installer_cache_expire winrepo_passphrase winrepo_password winrepo_privkey winrepo_proxy winrepo_pubkey
  winrepo_refspecs winrepo_remotes winrepo_remotes_ng winrepo_source_dir winrepo_ssl_verify winrepo_user worker_pools
  worker_pools_enabled zmq_heartbeat_ivl zmq_heartbeat_timeout
`;

export const otherSaltNames: ReadonlySet<string> = new Set(names.split(/\s+/).filter((name) => name !== ""));

/** Names of options for other programs of Salt, which read the same file: salt-api, salt-ssh, salt-syndic. */
const ofOtherPrograms = /^(?:api|netapi|rest|ssh|syndic|thin)_/;

/** Names among them that this program does read, by role. A minion without a master reads those of the pillar. */
const read: Readonly<Record<"master" | "minion", readonly string[]>> = {
  master: ["log_dir", "state_output_diff", "state_output_pct", "state_output_profile"],
  minion: [
    "decrypt_pillar_default",
    "decrypt_pillar_delimiter",
    "decrypt_pillar_renderers",
    "gpg_cache",
    "gpg_cache_ttl",
    "gpg_decrypt_must_succeed",
    "log_dir",
    "multifunc_ordered",
    "pillar_includes_override_sls",
    "pillar_merge_lists",
    "pillar_safe_render_error",
    "pillar_source_merging_strategy",
    "pillarenv_from_saltenv",
    "state_output_diff",
    "state_output_pct",
    "state_output_profile",
    "test",
  ],
};

/** Whether this is an option of Salt that has no effect here. */
export function isIgnored(name: string, role: "master" | "minion"): boolean {
  return otherSaltNames.has(name) && !ofOtherPrograms.test(name) && !read[role].includes(name);
}
