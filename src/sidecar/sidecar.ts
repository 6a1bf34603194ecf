/** The site's Python of one program: looks for the interpreter at the first question, and keeps the processes. */
import type { MasterConfig } from "../config/load.ts";
import { SaltworksError } from "../errors.ts";
import type { OnSidecarEvent, SidecarAnswer, SidecarRequest } from "./contract.ts";
import { type FoundPython, findPython } from "./find-python.ts";
import { ProcessPool, type SidecarCounters } from "./process-pool.ts";
import { sidecarSettings } from "./settings.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const noCounters: SidecarCounters = { requests: 0, failed: 0, timeouts: 0, refused: 0, started: 0, lost: 0 };

export class Sidecar {
  readonly #config: MasterConfig;
  readonly #environment: Environment;
  readonly #log: (text: string) => void;
  #finding: Promise<FoundPython> | undefined;
  #pool: ProcessPool | undefined;
  #isClosed = false;

  constructor(config: MasterConfig, environment: Environment, log: (text: string) => void) {
    this.#config = config;
    this.#environment = environment;
    this.#log = log;
  }

  get state(): { readonly counters: SidecarCounters; readonly running: number; readonly waiting: number } {
    const { counters = noCounters, running = 0, waiting = 0 } = this.#pool ?? {};
    return { counters: { ...counters }, running, waiting };
  }

  /**
   * @param onEvent - gets what a runner function fires while it runs
   * @throws SaltworksError SIDECAR_MISSING without a Python that has Salt, and as `ProcessPool.ask`
   */
  async ask(request: SidecarRequest, timeoutMs: number, onEvent?: OnSidecarEvent): Promise<SidecarAnswer> {
    return await (await this.#processes()).ask(request, timeoutMs, onEvent);
  }

  /** The site's modules are loaded anew at the next request. */
  forget(): void {
    this.#pool?.forget();
  }

  close(): void {
    this.#isClosed = true;
    this.#pool?.close();
  }

  async #processes(): Promise<ProcessPool> {
    if (this.#pool !== undefined) return this.#pool;
    const found = await this.#found();
    if (found.python === undefined) throw new SaltworksError("SIDECAR_MISSING", found.why);
    if (this.#isClosed) throw new SaltworksError("CHANNEL_CLOSED", "the sidecar is closed");
    this.#pool ??= new ProcessPool(sidecarSettings(this.#config, found.python, this.#environment), this.#log);
    return this.#pool;
  }

  #found(): Promise<FoundPython> {
    const { sitePython, salt_python: option } = this.#config;
    this.#finding ??=
      sitePython === undefined
        ? findPython(option, this.#environment)
        : Promise.resolve({ python: sitePython, salt: "" });
    return this.#finding;
  }
}
