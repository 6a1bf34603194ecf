/** One minion that asks for its pillar again and again, from a master whose pillar files are slow to render. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SaltworksError } from "../../../src/errors.ts";
import { RequestChannel } from "../../../src/transport/request-channel.ts";
import { finishAuth, requestToken, startAuth } from "../../fleet/handshake.ts";
import { defaultKeyDirectory, loadPrimes, minionKey } from "../../fleet/keys.ts";
import { openPrivateReply, type Sender, sealRequest } from "../../fleet/sealed-request.ts";
import type { MasterUnderTest } from "./master-contract.ts";

const id = "slow-pillar-asker";
const timeoutMs = 120_000;

/** The master's pillar directory. The files are written before the minion asks. */
export const pillarDirectory = join(tmpdir(), `saltworks-bench-pillar-${process.pid}`);

/** Work that no renderer can skip: each number is made into a text. */
function writePillar(passes: number): void {
  mkdirSync(pillarDirectory, { recursive: true });
  const inner = "{% for b in range(100) %}{% set x = (a * b)|string %}{% endfor %}";
  writeFileSync(join(pillarDirectory, "top.sls"), `base:\n  '${id}': [slow]\n`);
  writeFileSync(join(pillarDirectory, "slow.sls"), `{% for a in range(${passes}) %}${inner}{% endfor %}\nslow: done\n`);
}

export class PillarAsker {
  readonly #channel: RequestChannel;
  readonly #ask: () => Promise<void>;

  private constructor(channel: RequestChannel, ask: () => Promise<void>) {
    this.#channel = channel;
    this.#ask = ask;
  }

  /** Signs in. The caller closes it. */
  static async open(master: MasterUnderTest): Promise<PillarAsker> {
    const key = minionKey(await loadPrimes(defaultKeyDirectory(), 2), 0);
    const options = { endpoint: `tcp://127.0.0.1:${master.requestPort}`, timeoutMs, tries: 1 };
    const channel = new RequestChannel(options);
    const attempt = startAuth(id, key, 3, undefined);
    const outcome = finishAuth(attempt, await channel.request(attempt.request), key, 3, undefined);
    if (outcome.kind !== "accepted") throw new SaltworksError("AUTH_FAILED", `${id} was not accepted`);
    const sender: Sender = { id, key, token: requestToken(key), version: 3 };
    const load = { cmd: "_pillar", id, grains: { id }, saltenv: null, pillarenv: null, pillar_override: {}, ver: "2" };
    return new PillarAsker(channel, async () => {
      const { frame, nonce } = sealRequest(load, sender, outcome.keys);
      const pillar = openPrivateReply(await channel.request(frame), nonce, sender, outcome.master);
      if (!(pillar instanceof Map) || pillar.get("slow") !== "done")
        throw new SaltworksError("REQUEST_REFUSED", "the pillar came without its value");
    });
  }

  /** How long one pillar takes, seconds. */
  async time(): Promise<number> {
    const startedMs = performance.now();
    await this.#ask();
    return (performance.now() - startedMs) / 1_000;
  }

  /** Writes a pillar that takes about this long, extrapolated from a shorter one. @returns the time that it takes */
  async makeSlow(seconds: number): Promise<number> {
    const trialPasses = 2_000;
    writePillar(trialPasses);
    await this.time();
    const trialSeconds = await this.time();
    writePillar(Math.max(1, Math.min(100_000, Math.round((trialPasses * seconds) / trialSeconds))));
    return await this.time();
  }

  /** Asks, one request after the other, until `isOver`. @returns the number of pillars that came */
  async askUntil(isOver: () => boolean): Promise<number> {
    let count = 0;
    while (!isOver()) {
      await this.#ask();
      count += 1;
    }
    return count;
  }

  close(): void {
    this.#channel.close();
    rmSync(pillarDirectory, { recursive: true, force: true });
  }
}
