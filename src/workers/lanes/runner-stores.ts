/** The stores of runner and wheel functions. Damaged records are reported in the caller's notes and in the master's log. */
import { AsyncLocalStorage } from "node:async_hooks";
import { join } from "node:path";
import type { MasterConfig } from "../../config/load.ts";
import { type JobDatabases, type OpenedReader, openJobReader } from "../../databases/open-reader.ts";
import { logItemsMax } from "../../limits.ts";
import { type MinionData, openMinionData } from "../../store/minions/data.ts";
import type { RunnerStart } from "../messages/runner.ts";
import { openPythonJobs } from "../python-jobs.ts";

type Stores = {
  readonly minions: MinionData;
  readonly jobs: OpenedReader["jobs"];
  readonly saltJobs: OpenedReader["saltJobs"];
  readonly databases: JobDatabases;
};
type Call = { readonly note: (text: string) => void; readonly told: Set<string> };

export class RunnerStores {
  readonly #config: MasterConfig;
  readonly #environment: RunnerStart["environment"];
  readonly #calls = new AsyncLocalStorage<Call>();
  readonly #faults: string[] = [];
  #opened: Stores | undefined;

  /** `environment`: variables for Python. */
  constructor(config: MasterConfig, environment: RunnerStart["environment"]) {
    this.#config = config;
    this.#environment = environment;
  }

  /** Opens the stores at the first call. If they were opened as the thread starts, a failure would leave the call without an answer. */
  open(): Stores {
    this.#opened ??= this.#openAll();
    return this.#opened;
  }

  /** Runs `call`. `note` gets a text for each damaged record that its answer leaves out, at most `logItemsMax` texts. */
  noting<Result>(note: Call["note"], call: () => Result): Result {
    return this.#calls.run({ note, told: new Set() }, call);
  }

  /** Returns and clears the faults of all calls since the last look. The thread has no log of its own. */
  takeFaults(): string[] {
    return this.#faults.splice(0);
  }

  #openAll(): Stores {
    const complain = (text: string) => {
      if (this.#faults.length < logItemsMax) this.#faults.push(text);
    };
    const onFault = ({ message }: Error) => complain(message);
    const openPython = (name: string) => openPythonJobs(this.#config, this.#environment, name, complain);
    const onLeftOut = (text: string) => this.#tellCaller(text);
    const minions = openMinionData({ path: join(this.#config.cachedir, "minions.lmdb"), isReadOnly: true, onFault });
    const { jobs, saltJobs, databases } = openJobReader(this.#config, { onFault, onLeftOut, openPython });
    return { minions, jobs, saltJobs, databases };
  }

  #tellCaller(text: string): void {
    const call = this.#calls.getStore();
    if (call === undefined || call.told.has(text) || call.told.size >= logItemsMax) return;
    call.told.add(text);
    call.note(text);
  }
}
