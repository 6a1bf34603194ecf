/** What the master copies for others: its jobs into a database, its events to returners, and jobs of one job cache into another. */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import type { CacheStatus } from "../../runners/contract/contract.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Bus } from "../ports/bus.ts";
import { EventReturns } from "./event-returns.ts";
import { JobMigration } from "./job-migration.ts";
import { type JobShipping, jobShippingOf } from "./job-shipping.ts";

/** Lanes that copy jobs and events elsewhere, if the configuration needs them. */
export type CopyLanes = { readonly migrations: LanePool; readonly database?: LanePool; readonly events?: LanePool };

export class Copies {
  readonly jobShipping: JobShipping;
  readonly eventReturns: EventReturns;
  readonly migration: JobMigration;

  constructor(parts: {
    readonly config: MasterConfig;
    readonly copyLanes: CopyLanes;
    readonly bus: Bus;
    readonly logger: Logger;
  }) {
    const { database: databases, events, migrations } = parts.copyLanes;
    this.jobShipping = jobShippingOf({ ...parts, databases });
    this.eventReturns = new EventReturns({ ...parts, events });
    this.migration = new JobMigration({ ...parts, databases, migrations });
  }

  status(): CacheStatus {
    const migration = this.migration.status();
    return { ...this.jobShipping.status(Date.now()), eventReturns: this.eventReturns.status(), migration };
  }

  /** Call it after the workers have closed their stores. */
  async close(): Promise<void> {
    await Promise.all([this.jobShipping.close(), this.eventReturns.close(), this.migration.close()]);
  }
}
