/** State `file.managed`. Source: Salt 3007's states, recorded in test/golden/states. */
import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { StateContext, StateFunction, StateResult } from "../run/contract.ts";
import { stateResult } from "../run/result.ts";
import { expanded } from "./file-absent.ts";
import { type Content, contentOf, isFault } from "./file-content.ts";
import {
  differences,
  modeOf,
  ownerFault,
  type Permissions,
  permissionsOf,
  setPermissions,
} from "./file-permissions.ts";
import { shownDiff, writeManaged } from "./file-write.ts";

const params = {
  name: undefined,
  source: null,
  source_hash: "",
  source_hash_name: null,
  keep_source: true,
  user: null,
  group: null,
  mode: null,
  attrs: null,
  template: null,
  makedirs: false,
  dir_mode: null,
  context: null,
  replace: true,
  defaults: null,
  backup: "",
  show_changes: true,
  create: true,
  contents: null,
  tmp_dir: "",
  tmp_ext: "",
  contents_pillar: null,
  contents_grains: null,
  contents_newline: true,
  contents_delimiter: ":",
  encoding: null,
  encoding_errors: "strict",
  allow_empty: true,
  follow_symlinks: true,
  check_cmd: null,
  skip_verify: false,
  selinux: null,
  verify_ssl: true,
  use_etag: false,
  signature: null,
  source_hash_sig: null,
};
/** Arguments of Salt's state that this program does not have: it refuses a value that would change what the state does. */
const unsupported: readonly (keyof typeof params)[] = [
  ...(["attrs", "backup", "check_cmd", "encoding", "selinux", "signature", "source_hash_sig", "use_etag"] as const),
  ...(["keep_source", "follow_symlinks", "verify_ssl", "source_hash", "source_hash_name"] as const),
];
const willChange = "is set to be changed\nNote: No changes made, actual changes may\nbe different due to other states.";

async function managed(context: StateContext, args: ValueMap): Promise<StateResult> {
  const { host, isTest } = context;
  const name = expanded(strOf(args.get("name") ?? null));
  const fail = (comment: string) => stateResult(name, false, comment);
  const refused = unsupported.find((key) => (args.get(key) ?? null) !== params[key]);
  if (refused !== undefined) return fail(`${refused} of file.managed is not supported by this program's states`);
  if (name === "") return fail("Destination file name is required");
  const mode = args.get("mode") ?? null;
  if (mode === "keep") return fail("mode: keep of file.managed is not supported by this program's states");
  const content = await contentOf(context, args);
  if (isFault(content) && content.isOfForm) return fail(content.fault);
  const stats = statSync(name, { throwIfNoEntry: false });
  if (!isTrue(args.get("create") ?? true) && stats?.isFile() !== true)
    return stateResult(name, true, `File ${name} is not present and is not set for creation`);
  const wanted = await permissionsOf(host, args, mode);
  const fault = isTest ? "" : ownerFault(wanted);
  if (fault !== "") return fail(fault);
  if (!isAbsolute(name)) return fail(`Specified file ${name} is not an absolute path`);
  if (stats?.isDirectory() === true) return fail(`Specified target ${name} is a directory`);
  const isReplaced = isTrue(args.get("replace") ?? true) && !(!isFault(content) && content.bytes === undefined);
  if (stats !== undefined && !isReplaced) return onlyPermissions(isTest, name, wanted);
  if (isFault(content)) return fail(isTest ? content.fault : `Unable to manage file: ${content.fault}`);
  const isShown = isTrue(args.get("show_changes") ?? true);
  return isTest ? tried(name, content, wanted, isShown) : writeManaged(args, content, wanted, name);
}

function onlyPermissions(isTest: boolean, name: string, wanted: Permissions): StateResult {
  const before = modeOf(statSync(name));
  const changes = isTest ? differences(name, wanted) : setPermissions(name, wanted);
  if (isTest) {
    const comment = changes.has("mode")
      ? `File ${name} will be updated with permissions ${wanted.mode} from its current state of ${before}`
      : `File ${name} not updated`;
    return stateResult(name, changes.size > 0 ? null : true, comment, changes);
  }
  const comment = changes.size > 0 ? "" : `File ${name} exists with proper permissions. No changes made.`;
  return stateResult(name, true, comment, changes);
}

function tried(name: string, content: Content, wanted: Permissions, isShown: boolean): StateResult {
  const changes: ValueMap = new Map();
  if (statSync(name, { throwIfNoEntry: false }) === undefined) changes.set("newfile", name);
  else {
    const diff = content.bytes === undefined ? "" : shownDiff(name, content.bytes);
    if (diff !== "") changes.set("diff", isShown ? diff : "<show_changes=False>");
    for (const [key, value] of differences(name, wanted)) changes.set(key, value as Value);
  }
  if (changes.size === 0) return stateResult(name, true, `The file ${name} is in the correct state`);
  return stateResult(name, null, `The file ${name} ${willChange}`, changes);
}

export const managedState: StateFunction = { params, takesMore: true, run: managed };
