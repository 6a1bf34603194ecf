/**
 * Resolves targets: expands nodegroups, finds the minions that a target expects, and the listed names without an accepted key.
 * Every publish, runner and question about a target passes here. Source: docs/compatibility.md, "Targeting".
 */

import type { Logger } from "pino";
import { hasCode, SaltworksError } from "../../errors.ts";
import type { AskedTarget } from "../../target/asked-target.ts";
import { listedIds } from "../../target/expected.ts";
import { expandTarget, type Nodegroups, readNodegroups } from "../../target/nodegroups.ts";
import { needsMinionData, type Target } from "../../target/parse.ts";
import { ParsedTargets } from "../../target/parsed.ts";
import { portableCompound } from "../../target/portable.ts";
import { TextList } from "../../wire/text-list.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import { expectedMinions } from "./expected-minions.ts";

export type TargetsOptions = {
  readonly pool: WorkerPool;
  readonly accepted: ReadonlySet<string>;
  readonly config: {
    readonly nodegroups: unknown;
    readonly minion_data_cache: boolean;
    readonly configFile: string;
  };
  /** Reads keys that other programs have just put into the key directory, before the directory watch does. */
  readonly lookForNewKeys?: () => Promise<unknown> | undefined;
  readonly logger: Logger;
};

export type Expected = { readonly minions: TextList; readonly missing: string[] };

export class Targets {
  readonly #options: TargetsOptions;
  readonly #groups: Nodegroups;
  readonly #parsed = new ParsedTargets();

  constructor(options: TargetsOptions) {
    this.#options = options;
    this.#groups = readNodegroups(options.config.nodegroups);
  }

  /** The target in stored form: nodegroups expanded, compounds as text. */
  written<Asked extends AskedTarget>(asked: Asked): Asked {
    try {
      const { kind, expression } = expandTarget(asked.targetKind, asked.target, this.#groups);
      if (kind === asked.targetKind && expression === asked.target) return asked;
      return { ...asked, targetKind: kind, target: expression };
    } catch (error) {
      if (!(error instanceof SaltworksError) || error.detail.isUndefined !== true) throw error;
      throw new SaltworksError("TARGET_INVALID", unavailableText(error, this.#options.config.configFile), error.detail);
    }
  }

  /**
   * The minions that a target expects. The target is in stored form; one that cannot be parsed expects no minion, as in Salt.
   *
   * @throws SaltworksError TARGET_INVALID for a target that Salt would take and this program refuses, TASK_TIMEOUT, or what the pool throws
   */
  async expected(target: AskedTarget, isGreedy = true): Promise<Expected> {
    const { pool, accepted, config, logger } = this.#options;
    await this.#options.lookForNewKeys?.();
    let parsed: Target | undefined;
    try {
      parsed = this.parse(target);
    } catch (error) {
      if (!hasCode(error, "TARGET_INVALID") || isRefused(error)) throw error;
      const { message } = error as Error;
      logger.warn(
        { error: message, targetKind: target.targetKind },
        "a target cannot be parsed, so it matches no minion",
      );
    }
    // Without `minion_data_cache` Salt expects all minions, for any text.
    if (!config.minion_data_cache && needsMinionData(target.targetKind) && isGreedy) {
      return { minions: await expectedMinions(pool, everyone), missing: [] };
    }
    if (parsed === undefined) return { minions: TextList.of([]), missing: [] };
    const minions = await expectedMinions(pool, target, isGreedy);
    return { minions, missing: listedIds(parsed)?.filter((id) => !accepted.has(id)) ?? [] };
  }

  /** @throws SaltworksError TARGET_INVALID */
  parse({ targetKind, target, delimiter }: AskedTarget): Target {
    return this.#parsed.parse(targetKind, target, delimiter);
  }
}

const everyone: AskedTarget = { target: "*", targetKind: "glob", delimiter: ":" };

/** Salt's words for a group that the configuration does not have. */
function unavailableText(error: SaltworksError, configFile: string): string {
  return `Node group ${error.detail.group} unavailable in ${configFile}`;
}

/** Whether only this program refuses the target, and Salt does not. Ranges do not count: without a range server Salt matches no minion either. */
export function isRefused(error: unknown): boolean {
  if (!(error instanceof SaltworksError) || error.code !== "TARGET_INVALID") return false;
  return error.detail.isRefused === true && error.detail.construct !== "range";
}

/** The target in a form that minions of every release understand. @throws SaltworksError TARGET_INVALID */
export function targetOnWire({ target, targetKind }: AskedTarget): string | readonly string[] {
  return targetKind === "compound" || targetKind === "compound_pillar_exact" ? portableCompound(target) : target;
}
