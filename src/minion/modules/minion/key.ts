/**
 * Execution modules `key` and `minion`: this minion's own key, and the keys of a master on the same machine.
 * Source: Salt 3007's modules of these names, docs/functions.md.
 */

import { getHashes } from "node:crypto";
import { join } from "node:path";
import { fingerprint } from "../../../crypto/pem.ts";
import { strOf } from "../../../python/repr.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import { pythonException } from "../../functions/errors.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { namesIn, readTextIfAny } from "../machine/file-error.ts";

export const keyModule: ModuleFunctions = {
  "key.finger": {
    ...signature("hash_type=None"),
    doc: describe("The fingerprint of this minion's public key.", "key.finger"),
    run: (context, args) => fingerprintOf(context, "minion.pub", argument(args, "hash_type")),
  },
  "key.finger_master": {
    ...signature("hash_type=None"),
    doc: describe("The fingerprint of the master's public key that this minion has pinned.", "key.finger_master"),
    run: (context, args) => fingerprintOf(context, "minion_master.pub", argument(args, "hash_type")),
  },
};

export const minionModule: ModuleFunctions = {
  "minion.list": {
    ...signature(""),
    pythonName: "list_",
    doc: describe("The keys of a master on this machine, by their state; none without a master.", "minion.list"),
    run: (context) => {
      const pkiDir = context.config.pki_dir.replaceAll("minion", "master");
      const directories = ["minions", "minions_pre", "minions_rejected", "minions_denied"];
      const lists = directories.map((name): [string, Encodable] => [name, idsIn(join(pkiDir, name))]);
      return Object.fromEntries(lists);
    },
  },
};

/** Returns an empty text without a key. */
function fingerprintOf(context: CallContext, file: string, hashType: Value): string {
  const pem = readTextIfAny(join(context.config.pki_dir, file));
  const hash = hashType === null ? context.config.hash_type : strOf(hashType);
  if (!getHashes().includes(hash)) throw pythonException("ValueError", `unsupported hash type ${hash}`);
  return pem === undefined ? "" : fingerprint(pem, hash);
}

function idsIn(directory: string): string[] {
  return namesIn(directory)
    .filter((name) => !name.startsWith("."))
    .sort((first, second) => (first.toLowerCase() < second.toLowerCase() ? -1 : 1));
}
