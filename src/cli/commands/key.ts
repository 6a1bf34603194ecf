/** `saltworks key`: lists, shows, accepts, rejects and deletes minions' keys as salt-key does. Source: docs/compatibility.md, "saltworks key". */

import { accessSync, constants } from "node:fs";
import type { Logger } from "pino";
import {
  type KeyAction,
  type KeyActions,
  KeyAdmin,
  type KeyLists,
  type KeyTexts,
  stateName,
  statesNamed,
} from "../../client/key-admin.ts";
import { MasterClient } from "../../client/master-client.ts";
import { RemoteKeys } from "../../client/remote-keys.ts";
import { knock } from "../../client/request-port.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { hasCode, type SaltworksError } from "../../errors.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { Host } from "../host/host.ts";
import { loginOf } from "../input/login.ts";
import { becomeUser } from "../input/process-user.ts";
import { openToolLog } from "../log/open-log.ts";
import type { OptionsOf } from "../options/parse.ts";
import { Display } from "../show/display.ts";
import { displayChoice } from "../show/display-choice.ts";
import { isHardCrash, orCrash } from "../show/hard-crash.ts";
import { noticePlace } from "../show/notices.ts";
import { understand } from "../start/command-line.ts";
import { clientConfig, defaultConfigDir } from "../start/configuration.ts";
import { generatedDirectory, runKeyGeneration } from "./key-generation.ts";

type KeyOptions = OptionsOf<"key">;
type Task = { readonly verb: "list" | "print" | "finger" | KeyAction; readonly glob: string };

const pastTense: Readonly<Record<KeyAction, string>> = { accept: "accepted", reject: "rejected", delete: "deleted" };

/** Errors of requests to a master. Only users of an eauth system send such requests. */
const masterRefusals = ["AUTH_FAILED", "REQUEST_REFUSED", "REQUEST_TIMEOUT", "MASTER_UNREACHABLE"] as const;

/** @returns the exit code. As in Salt it is 0 even if no key was changed. */
export async function runKey(argv: readonly string[], host: Host): Promise<number> {
  const { options } = understand("key", argv, host);
  return await orCrash(options.isHardCrash, host, () => runAction(options, host));
}

async function runAction(options: KeyOptions, host: Host): Promise<number> {
  const config = clientConfig(configDirectory(options), host);
  const log = openToolLog(options, config, host);
  // As in salt-key, files that root changes belong to the master's user afterwards.
  const user = options.user ?? (process.getuid?.() === 0 && options.eauth === undefined ? config.user : undefined);
  if (user !== undefined) await becomeUser(user, host);
  const display = new Display({ ...displayChoice(options, config, host.environment), defaultOutputter: "key" }, host);
  let client: MasterClient | undefined;
  try {
    if (await runKeyGeneration(options, config, display)) return 0;
    // As in salt-key, a kept token counts only with an eauth system.
    const login = options.eauth === undefined ? undefined : await loginOf(options, config, host, false);
    if (login === "failed") {
      log.error("Authentication failed");
      return 0;
    }
    if (login !== undefined) {
      await knock(config);
      client = await MasterClient.open(config, host.user, login);
    }
    const keys = client === undefined ? new KeyAdmin(config) : new RemoteKeys(client);
    await new KeyCommand(keys, options, config, display, host, log).run(taskOf(options));
  } catch (error) {
    if (masterRefusals.some((code) => hasCode(error, code))) {
      host.complain(`Error: ${(error as SaltworksError).message}\n`);
      noticePlace(error, config, host);
      return 1;
    }
    if (
      isHardCrash(options.isHardCrash, host) ||
      (!hasCode(error, "STORE_FAILED") && !hasCode(error, "CRYPTO_BAD_KEY"))
    )
      throw error;
    host.complain(`Error: ${explanation(error as Error)}\n`);
    return 1;
  } finally {
    client?.close();
  }
  return 0;
}

/** As in Salt, `--gen-keys` needs no readable configuration directory. The directory of the new files takes its place. */
function configDirectory(options: KeyOptions): string | undefined {
  const directory = options.configDir ?? defaultConfigDir;
  return options.generatedName === undefined || isReadable(directory) ? directory : generatedDirectory(options);
}

function isReadable(directory: string): boolean {
  try {
    accessSync(directory, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** If several actions are given, the first in this order wins. */
function taskOf(options: KeyOptions): Task {
  const given: readonly [Task["verb"], string | undefined, boolean][] = [
    ["list", options.list, false],
    ["list", undefined, options.isListAll],
    ["print", options.print, options.isPrintAll],
    ["accept", options.accept, options.isAcceptAll],
    ["reject", options.reject, options.isRejectAll],
    ["delete", options.delete, options.isDeleteAll],
    ["finger", options.finger, options.isFingerAll],
  ];
  for (const [verb, glob, isAll] of given) {
    if (glob !== undefined && glob !== "") return { verb, glob };
    if (isAll) return { verb, glob: verb === "list" ? "all" : "*" };
  }
  return { verb: "list", glob: "all" };
}

class KeyCommand {
  readonly #admin: KeyActions;
  readonly #options: KeyOptions;
  readonly #config: MasterConfig;
  readonly #display: Display;
  readonly #host: Host;
  readonly #log: Logger;

  constructor(admin: KeyActions, options: KeyOptions, config: MasterConfig, display: Display, host: Host, log: Logger) {
    this.#admin = admin;
    this.#options = options;
    this.#config = config;
    this.#display = display;
    this.#host = host;
    this.#log = log;
  }

  async run({ verb, glob }: Task): Promise<void> {
    if ((verb === "list" || verb === "finger") && !this.#admin.isThere) {
      this.#host.complain(`Error: [Errno 2] No such file or directory: '${this.#config.pki_dir}'\n`);
      return;
    }
    if (verb === "list") await this.#list(glob);
    else if (verb === "finger") await this.#showFingerprints(glob);
    else if (verb === "print") this.#display.show(textsAsValue(await this.#admin.texts(await this.#admin.match(glob))));
    else await this.#change(verb, glob);
  }

  async #list(glob: string): Promise<void> {
    const lists = await this.#admin.list(statesNamed(glob));
    this.#display.show(listsAsValue(lists));
    const { pending_keys_max: max } = this.#config;
    const pending = lists.get("pending")?.length ?? 0;
    if (pending >= max)
      this.#host.complain(
        `There are ${pending} pending keys, pending_keys_max is ${max}: keys of further minions are not kept until there are fewer.\n`,
      );
  }

  async #showFingerprints(glob: string): Promise<void> {
    const shown: ValueMap = new Map();
    for (const entry of textsAsValue(await this.#admin.fingerprints(await this.#admin.match(glob))))
      shown.set(...entry);
    const local = await this.#admin.localFingerprints(glob);
    if (local.size > 0) shown.set("local", new Map(local));
    this.#display.show(shown);
  }

  async #change(action: KeyAction, glob: string): Promise<void> {
    const keys = this.#eligible(action, await this.#admin.match(glob));
    if (keys.size === 0) {
      this.#display.line(`The key glob '${glob}' does not match any ${this.#eligibleNames(action)} keys.`);
      return;
    }
    this.#display.line(`The following keys are going to be ${pastTense[action]}:`);
    this.#display.show(listsAsValue(keys));
    if (!this.#options.isYes && !(await this.#isConfirmed(action))) return;
    const isRotating = isTrue(this.#options.rotateAesKey) ?? this.#config.rotate_aes_key;
    const isDataKept = isTrue(this.#options.preserveMinions) ?? this.#config.preserve_minion_cache;
    const invalid = await this.#admin.apply(action, keys, { isRotating, isDataKept });
    for (const id of invalid) this.#host.complain(`Unable to accept invalid key for ${id}.\n`);
    const done = action === "delete" ? keys : await this.#admin.whereabouts(without(keys, invalid));
    for (const id of [...done.values()].flat()) {
      this.#display.line(`Key for minion ${id} ${pastTense[action]}.`);
      this.#log.info({ id, action }, `Key for minion ${id} ${pastTense[action]} in ${this.#config.pki_dir}`);
    }
  }

  /** Pending keys, and keys in the states that options include. Deletion takes keys in every state. */
  #eligible(action: KeyAction, keys: KeyLists): KeyLists {
    if (action === "delete") return keys;
    const eligible = new Set(["pending", ...this.#included(action)]);
    return new Map([...keys].filter(([state]) => eligible.has(state)));
  }

  #included(action: KeyAction): string[] {
    const { isAllIncluded, isAcceptedIncluded, isRejectedIncluded, isDeniedIncluded } = this.#options;
    const states: string[] = [];
    if (action !== "accept" && (isAcceptedIncluded || (isAllIncluded && action === "reject"))) states.push("accepted");
    if (action !== "reject" && (isRejectedIncluded || (isAllIncluded && action === "accept"))) states.push("rejected");
    if (isDeniedIncluded) states.push("denied");
    return states;
  }

  #eligibleNames(action: KeyAction): string {
    const names = ["unaccepted", ...this.#included(action)];
    return names.length === 1 ? "unaccepted" : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
  }

  /** Enter means yes, but no for a deletion. */
  async #isConfirmed(action: KeyAction): Promise<boolean> {
    this.#host.write(action === "delete" ? "Proceed? [N/y] " : "Proceed? [n/Y] ");
    const answer = await this.#host.readLine();
    if (answer === undefined) {
      this.#host.complain("Error: EOF when reading a line\n");
      return false;
    }
    return answer === "" ? action !== "delete" : answer.toLowerCase().startsWith("y");
  }
}

/** The parser has accepted only `True` and `False`, in any case of letters. */
function isTrue(word: string | undefined): boolean | undefined {
  return word === undefined ? undefined : word.toLowerCase() === "true";
}

function without(keys: KeyLists, ids: readonly string[]): KeyLists {
  return new Map([...keys].map(([state, listed]) => [state, listed.filter((id) => !ids.includes(id))]));
}

function listsAsValue(lists: KeyLists): ValueMap {
  return new Map<Value, Value>([...lists].map(([state, ids]) => [stateName(state), [...ids]]));
}

function textsAsValue(texts: KeyTexts): ValueMap {
  return new Map<Value, Value>([...texts].map(([state, byId]) => [stateName(state), new Map(byId)]));
}

/** The store's error with the system's reason, if it gave one. */
function explanation(error: Error): string {
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
