/**
 * Commands of parts that do not exist yet, answered exactly as Salt answers them when there is nothing to serve or the
 * feature is not permitted: file server without files, no peer publishing, no external tops. docs/compatibility.md lists them.
 */
import type { Encodable } from "../../wire/values.ts";

export const emptyAnswers: ReadonlyMap<string, Encodable> = new Map<string, Encodable>([
  ["_file_envs", ["base"]],
  ["_file_list", []],
  ["_file_list_emptydirs", []],
  ["_dir_list", []],
  ["_symlink_list", new Map()],
  ["_file_hash", ""],
  ["_file_hash_and_stat", ["", null]],
  ["_file_find", { path: "", rel: "" }],
  ["_serve_file", { data: "", dest: "" }],
  ["_file_recv", false],
  ["_master_tops", new Map()],
  ["_ext_nodes", new Map()],
  ["minion_pub", new Map()],
  ["minion_publish", new Map()],
  ["minion_runner", new Map()],
  ["pub_ret", new Map()],
  ["_syndic_return", null],
  ["verify_minion", ""],
]);
