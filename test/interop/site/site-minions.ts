/**
 * The site's stock minions. One of them may stand still for ever after a change of masters, by a fault of its own (docs/compatibility.md, "Stock minions
 * that stand still"); it is told from one that answers otherwise, and started anew, as an operator does.
 */
import { join } from "node:path";
import type { Operator } from "../operator.ts";
import type { SaltRelease } from "../salt-releases.ts";
import { type MasterUnderTest, MinionUnderTest } from "../test-bed.ts";
import { grains, minionIds, releaseOf } from "./site-tree.ts";

type MinionId = (typeof minionIds)[number];

const startTimeoutMs = 120_000;
/** Seconds of `salt -t`. A minion that is only slow answers one of these. */
const pingTimeoutSeconds = 10;
const pings = 3;

export class SiteMinions {
  readonly #of: (release: string) => SaltRelease;
  readonly #running = new Map<MinionId, MinionUnderTest>();
  #starts = 0;

  private constructor(of: (release: string) => SaltRelease) {
    this.#of = of;
  }

  /** Resolves when all have started. */
  static async start(master: MasterUnderTest, of: (release: string) => SaltRelease): Promise<SiteMinions> {
    const minions = new SiteMinions(of);
    await minions.#startAll(master, minionIds);
    return minions;
  }

  /** Minions without an answer to a ping. */
  async standingStill(operator: Operator): Promise<MinionId[]> {
    const still: MinionId[] = [];
    for (const id of minionIds) if (!(await answersPing(operator, id))) still.push(id);
    return still;
  }

  async startAnew(ids: readonly MinionId[], master: MasterUnderTest): Promise<void> {
    for (const id of ids) await this.#running.get(id)?.program.kill();
    await this.#startAll(master, ids);
  }

  /** One for each start: Salt's minion ends at once if it finds one of a process that seems to run. */
  #newPidFile(master: MasterUnderTest): string {
    this.#starts += 1;
    return join(master.bed.folder, `minion-${this.#starts}.pid`);
  }

  async #startAll(master: MasterUnderTest, ids: readonly MinionId[]): Promise<void> {
    const watch = await master.bed.watchEvents(master.sockDir);
    for (const id of ids) {
      // ZeroMQ connects again by itself. A minion that notices a lost master begins anew, and Salt's may hang for ever while it does.
      const options = {
        grains: grains[id],
        master_alive_interval: 3_600,
        mine_interval: 1,
        pidfile: this.#newPidFile(master),
      };
      this.#running.set(id, new MinionUnderTest(master, this.#of(releaseOf[id]), id, options));
    }
    for (const id of ids) await watch.until(id, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
    watch.close();
  }
}

/** @throws Error, naming the minions of which `salt` shows no answer to a job of all */
export function demandAnswers(shown: unknown): void {
  const answers = (shown ?? {}) as Readonly<Record<string, unknown>>;
  const silent = minionIds.filter((id) => /^undefined$|^Minion did not return/.test(String(answers[id])));
  if (silent.length > 0) throw new Error(`no answer of ${silent.join(", ")}: ${JSON.stringify(shown)}`);
}

async function answersPing(operator: Operator, id: MinionId): Promise<boolean> {
  for (let ping = 0; ping < pings; ping += 1) {
    const words = ["-t", String(pingTimeoutSeconds), "--static", id, "test.ping"];
    const answer = (await operator.json("salt", words)) as Readonly<Record<string, unknown>> | undefined;
    if (answer?.[id] === true) return true;
  }
  return false;
}
