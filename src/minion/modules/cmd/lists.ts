/** `cmd_blacklist_glob` and `cmd_whitelist_glob`: which commands a job may run. Looks in configuration, grains and pillar. */

import { compileGlob } from "../../../python/fnmatch.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Value } from "../../../wire/values.ts";
import { commandError } from "../../functions/errors.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { findSetting } from "../declare/settings.ts";

/** @throws SaltworksError FUNCTION_FAILED if the command is on the blacklist, or not on an existing whitelist */
export function assertPermitted(context: CallContext, cmd: Value): void {
  const text = Array.isArray(cmd) ? cmd.map(strOf).join(" ") : strOf(cmd);
  const blacklist = findSetting(context, "cmd_blacklist_glob") ?? null;
  const whitelist = findSetting(context, "cmd_whitelist_glob") ?? null;
  const isListed = (list: Value) => Array.isArray(list) && list.some((glob) => compileGlob(strOf(glob)).matches(text));
  if (isListed(blacklist) || (isTrue(whitelist) && !isListed(whitelist))) {
    throw commandError(`The shell command "${text}" is not permitted`);
  }
}
