/** Load on an HTTP API by autocannon: every connection has one request under way. */
import autocannon from "autocannon";
import { SaltworksError } from "../../../src/errors.ts";
import { LatencyHistogram } from "../../load/histogram.ts";

/** `method` is GET without a body, else POST. */
export type Asked = {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Whether an answer is the right one. */
  readonly isRight?: (text: string) => boolean;
};

/** A number of requests, or as many as the API answers in this time. */
export type Amount = { readonly requests: number } | { readonly seconds: number };

export type LoadOutcome = {
  readonly requests: number;
  readonly wallMs: number;
  readonly perSecond: number;
  /** Answers with another status than 2xx, and answers with the wrong content. */
  readonly refused: number;
  readonly wrong: number;
  readonly timedOut: number;
  /** Of the last answer, in bytes. */
  readonly bytes: number;
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number; readonly max: number };
};

export type LoadOptions = {
  readonly connections: number;
  readonly amount: Amount;
  /** Of one request. A request that takes longer counts as `timedOut`. */
  readonly timeoutSeconds: number;
};

function optionsOf(asked: Asked, { connections, amount, timeoutSeconds }: LoadOptions): autocannon.Options {
  const { url, headers = {}, body, isRight } = asked;
  const sent = body === undefined ? {} : { method: "POST" as const, body: JSON.stringify(body) };
  return {
    url,
    connections,
    timeout: timeoutSeconds,
    headers: {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...sent,
    ...("requests" in amount ? { amount: amount.requests } : { duration: amount.seconds }),
    ...(isRight === undefined ? {} : { verifyBody: (text) => isRight(String(text)) }),
  };
}

function latencyOf(histogram: LatencyHistogram): LoadOutcome["latencyMs"] {
  const ms = (percent: number) => Math.round(histogram.atUs(percent) / 10) / 100;
  return { p50: ms(50), p95: ms(95), p99: ms(99), max: ms(100) };
}

export async function putLoad(asked: Asked, options: LoadOptions): Promise<LoadOutcome> {
  const histogram = new LatencyHistogram();
  let bytes = 0;
  const startedMs = performance.now();
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const running = autocannon(optionsOf(asked, options), (error: unknown, ended) => {
      if (error) reject(error instanceof Error ? error : new Error(String(error)));
      else resolve(ended);
    });
    running.on("response", (_client, _status, resBytes, responseTime) => {
      histogram.recordMs(responseTime);
      bytes = resBytes;
    });
  });
  const wallMs = performance.now() - startedMs;
  const requests = histogram.count;
  return {
    ...{ requests, wallMs: Math.round(wallMs), perSecond: Math.round(requests / (wallMs / 1_000)) },
    ...{ refused: result.non2xx, wrong: result.mismatches, timedOut: result.timeouts, bytes },
    latencyMs: latencyOf(histogram),
  };
}

/** @throws SaltworksError FUNCTION_FAILED if an answer was not right */
export function demandRight(what: string, { requests, refused, wrong, timedOut }: LoadOutcome): void {
  if (requests > 0 && refused + wrong + timedOut === 0) return;
  const counts = `${refused} refused, ${wrong} answered wrongly, ${timedOut} without answer`;
  throw new SaltworksError("FUNCTION_FAILED", `${what}: of ${requests} requests ${counts}`);
}
