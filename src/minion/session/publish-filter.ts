/** Selects the publishes that are jobs for this minion: complete, with a matching target, and not seen before. Source: docs/protocol.md section 6. */
import type { Logger } from "pino";
import type { MinionConfig } from "../../config/schema.ts";
import { hasCode } from "../../errors.ts";
import { matches } from "../../target/match.ts";
import { oldReleases, parseAsOldRelease } from "../../target/old-release.ts";
import { parseTarget, type Target } from "../../target/parse.ts";
import { textField } from "../../wire/fields.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { readDataStore } from "../functions/data-store.ts";
import type { MinionFacts } from "../functions/host.ts";
import { isUsableJid } from "../functions/job-records.ts";

const mandatoryFields = ["tgt", "jid", "fun", "arg"];
/** Target kinds whose keys are split at the publish's delimiter. Keys of other kinds are split at the colon, as in Salt. */
const delimitedKinds = new Set(["grain", "grain_pcre", "pillar"]);

type FilterConfig = Pick<MinionConfig, "id" | "minion_jid_queue_hwm" | "cachedir" | "target_parser_release">;

export class PublishFilter {
  readonly #config: FilterConfig;
  readonly #facts: () => MinionFacts;
  readonly #log: Logger;
  /** Ids of the latest jobs, oldest first. */
  readonly #seen = new Set<string>();

  constructor(config: FilterConfig, facts: () => MinionFacts, log: Logger) {
    this.#config = config;
    this.#facts = facts;
    this.#log = log;
  }

  isForUs(load: ValueMap): boolean {
    if (!mandatoryFields.every((name) => load.has(name))) return false;
    const jid = load.get("jid");
    if (!isUsableJid(jid)) {
      this.#log.warn("a publish with an invalid job id is ignored");
      return false;
    }
    return this.#matches(load) && this.#isFirst(jid);
  }

  #matches(load: ValueMap): boolean {
    const kind = load.has("tgt_type") ? (textField(load, "tgt_type") ?? "") : "glob";
    const expression = expressionOf(load.get("tgt"));
    if (expression === undefined) return false;
    const delimiter = delimitedKinds.has(kind) ? textField(load, "delimiter") : undefined;
    try {
      const target = this.#parse(kind, expression, delimiter);
      const data = kind === "data" ? { data: readDataStore(this.#config.cachedir) } : {};
      return matches(target, { id: this.#config.id, ...this.#facts(), ...data });
    } catch (error) {
      if (!hasCode(error, "TARGET_INVALID")) throw error;
      this.#log.debug({ err: error, kind }, "this minion does not understand the target, so the job is not for it");
      return false;
    }
  }

  #parse(kind: string, expression: string | readonly string[], delimiter: string | undefined): Target {
    const release = oldReleases.find((name) => name === this.#config.target_parser_release);
    if (release === undefined) return parseTarget(kind, expression, delimiter);
    return parseAsOldRelease(release, kind, expression, delimiter);
  }

  #isFirst(jid: string): boolean {
    if (this.#seen.has(jid)) return false;
    this.#seen.add(jid);
    if (this.#seen.size > this.#config.minion_jid_queue_hwm) {
      const [oldest] = this.#seen;
      if (oldest !== undefined) this.#seen.delete(oldest);
    }
    return true;
  }
}

function expressionOf(target: Value | undefined): string | readonly string[] | undefined {
  if (typeof target === "string") return target;
  return Array.isArray(target) ? target.map(String) : undefined;
}
