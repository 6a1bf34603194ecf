/** A tree of masters: a master above, and below it a master of Salt's with a `salt-syndic` and two minions of Salt's. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EventWatch } from "../event-watch.ts";
import { Operator } from "../operator.ts";
import type { SaltRelease } from "../salt-releases.ts";
import { type Maker, MasterUnderTest, MinionUnderTest, SyndicUnderTest, type TestBed } from "../test-bed.ts";

const startTimeoutMs = 180_000;
/** Seconds, on all masters of a tree. */
const times = { timeout: 5, gather_job_timeout: 5, syndic_wait: 5 };

/** Ids in every tree. */
export const syndicId = "branch";
export const leaves = ["leaf1", "leaf2"] as const;

/** States of the lower master, by name. */
const states = {
  fine: "all is well:\n  test.succeed_without_changes\n",
  broken: "all is lost:\n  test.fail_without_changes\n",
};

export type TreeOptions = {
  readonly bed: TestBed;
  /** The program of the master above. */
  readonly top: Maker;
  /** The release of all programs below. */
  readonly below: SaltRelease;
  /** Begins the names of the tree's folders, so that one bed can hold several trees. */
  readonly name: string;
  /** Further options of the master above. */
  readonly topOptions?: Readonly<Record<string, unknown>>;
};

type TreeParts = Pick<SyndicTree, "top" | "lower" | "syndic" | "minions" | "topEvents">;

export class SyndicTree {
  readonly top: MasterUnderTest;
  readonly lower: MasterUnderTest;
  readonly syndic: SyndicUnderTest;
  readonly minions: readonly MinionUnderTest[];
  readonly topEvents: EventWatch;

  private constructor(parts: TreeParts) {
    this.top = parts.top;
    this.lower = parts.lower;
    this.syndic = parts.syndic;
    this.minions = parts.minions;
    this.topEvents = parts.topEvents;
  }

  /** Resolves when the minions have started below and the syndic above. */
  static async grow({ bed, top: maker, below, name, topOptions }: TreeOptions): Promise<SyndicTree> {
    const files = join(bed.folder, `${name}-states`);
    mkdirSync(files);
    for (const [state, text] of Object.entries(states)) writeFileSync(join(files, `${state}.sls`), text);
    const top = await MasterUnderTest.create(
      bed,
      maker,
      { auto_accept: true, order_masters: true, ...times, ...topOptions },
      `${name}-top`,
    );
    const lower = await MasterUnderTest.create(
      bed,
      below,
      {
        ...{ auto_accept: true, ...times, file_roots: { base: [files] } },
        ...{ syndic_master: "127.0.0.1", syndic_master_port: top.requestPort },
      },
      `${name}-lower`,
    );
    await Promise.all([top.start(), lower.start()]);
    const topEvents = await bed.watchEvents(top.sockDir);
    const lowerEvents = await bed.watchEvents(lower.sockDir);
    const minions = leaves.map((id) => new MinionUnderTest(lower, below, id, { grains: { leaf: id } }, name));
    const started = leaves.map((id) =>
      lowerEvents.until(`${id} start`, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs),
    );
    await Promise.all(started);
    const syndic = new SyndicUnderTest(lower, top, below, syndicId);
    await topEvents.until("the syndic", ({ tag }) => tag === `salt/syndic/${syndicId}/start`, startTimeoutMs);
    return new SyndicTree({ top, lower, syndic, minions, topEvents });
  }

  /** An operator at the master above. */
  operator(maker: Maker): Operator {
    return new Operator(maker, this.top);
  }
}
