/** The stores of runner and wheel functions, opened with the first call. Damage goes to the caller's notes and to the master's log. */
import { AsyncLocalStorage } from "node:async_hooks";
import { join } from "node:path";
import type { MasterConfig } from "../../config/load.ts";
import { logItemsMax } from "../../limits.ts";
import { type JobReader, openJobReader } from "../../store/drivers/open-job-cache.ts";
import { type MinionData, openMinionData } from "../../store/minions/data.ts";

type Stores = { readonly minions: MinionData; readonly jobs: JobReader };
type Call = { readonly note: (text: string) => void; readonly told: Set<string> };

export class RunnerStores {
  readonly #config: MasterConfig;
  readonly #calls = new AsyncLocalStorage<Call>();
  readonly #faults: string[] = [];
  #opened: Stores | undefined;

  constructor(config: MasterConfig) {
    this.#config = config;
  }

  /** Opens with the first call, because a store that fails as the thread starts would leave the call without an answer. */
  open(): Stores {
    this.#opened ??= this.#openAll();
    return this.#opened;
  }

  /** Tells `note` what the call's answer lacks, `logItemsMax` texts at most. */
  noting<Result>(note: Call["note"], call: () => Result): Result {
    return this.#calls.run({ note, told: new Set() }, call);
  }

  /** Faults of all calls since the last look. The thread has no log of its own. */
  takeFaults(): string[] {
    return this.#faults.splice(0);
  }

  #openAll(): Stores {
    const onFault = ({ message }: Error) => {
      if (this.#faults.length < logItemsMax) this.#faults.push(message);
    };
    const onLeftOut = (text: string) => this.#tellCaller(text);
    return {
      minions: openMinionData({ path: join(this.#config.cachedir, "minions.lmdb"), isReadOnly: true }),
      jobs: openJobReader(this.#config, { onFault, onLeftOut }),
    };
  }

  #tellCaller(text: string): void {
    const call = this.#calls.getStore();
    if (call === undefined || call.told.has(text) || call.told.size >= logItemsMax) return;
    call.told.add(text);
    call.note(text);
  }
}
