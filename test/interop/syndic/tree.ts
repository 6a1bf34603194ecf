/** A tree of masters: a master above, and below it a master of Salt's with a `salt-syndic` and two minions of Salt's. */
import type { EventWatch } from "../event-watch.ts";
import { Operator } from "../operator.ts";
import type { SaltRelease } from "../salt-releases.ts";
import { type Maker, MasterUnderTest, MinionUnderTest, SyndicUnderTest, type TestBed } from "../test-bed.ts";

const startTimeoutMs = 180_000;

export type TreeOptions = {
  readonly bed: TestBed;
  /** The program of the master above. */
  readonly top: Maker;
  /** The release of all programs below. */
  readonly below: SaltRelease;
  /** Begins the names of the tree's folders and ids, so that one bed can hold several trees. */
  readonly name: string;
  /** Further options of the master above. */
  readonly topOptions?: Readonly<Record<string, unknown>>;
};

export class SyndicTree {
  readonly top: MasterUnderTest;
  readonly lower: MasterUnderTest;
  readonly syndic: SyndicUnderTest;
  readonly minions: readonly MinionUnderTest[];
  readonly topEvents: EventWatch;
  readonly lowerEvents: EventWatch;

  private constructor(parts: Pick<SyndicTree, "top" | "lower" | "syndic" | "minions" | "topEvents" | "lowerEvents">) {
    this.top = parts.top;
    this.lower = parts.lower;
    this.syndic = parts.syndic;
    this.minions = parts.minions;
    this.topEvents = parts.topEvents;
    this.lowerEvents = parts.lowerEvents;
  }

  /** Resolves when the minions have started below and the syndic above. */
  static async grow({ bed, top: maker, below, name, topOptions }: TreeOptions): Promise<SyndicTree> {
    const times = { timeout: 5, gather_job_timeout: 3, syndic_wait: 5 };
    const topMaster = await MasterUnderTest.create(
      bed,
      maker,
      { auto_accept: true, order_masters: true, ...times, ...topOptions },
      `${name}top`,
    );
    const lower = await MasterUnderTest.create(
      bed,
      below,
      { auto_accept: true, ...times, syndic_master: "127.0.0.1", syndic_master_port: topMaster.requestPort },
      `${name}lower`,
    );
    await Promise.all([topMaster.start(), lower.start()]);
    const topEvents = await bed.watchEvents(topMaster.sockDir);
    const lowerEvents = await bed.watchEvents(lower.sockDir);
    const ids = [`${name}a`, `${name}b`];
    const minions = ids.map((id) => new MinionUnderTest(lower, below, id, { grains: { branch: name, leaf: id } }));
    const started = ids.map((id) =>
      lowerEvents.until(`${id} start`, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs),
    );
    const syndic = new SyndicUnderTest(lower, topMaster, below, `${name}syndic`);
    const isStart = ({ tag }: { tag: string }) => tag === `salt/syndic/${syndic.id}/start`;
    await Promise.all([...started, topEvents.until("the syndic's start", isStart, startTimeoutMs)]);
    return new SyndicTree({ top: topMaster, lower, syndic, minions, topEvents, lowerEvents });
  }

  get minionIds(): readonly string[] {
    return this.minions.map(({ id }) => id);
  }

  /** An operator at the master above. */
  operator(maker: Maker): Operator {
    return new Operator(maker, this.top);
  }
}
