/** Returner `carbon`: the numbers of the return as metrics, in Carbon's text protocol. Source: Salt 3007's `carbon`. */
import { connect } from "node:net";
import { returnerConnectMs } from "../../../limits.ts";
import { printedOf, reprFloat } from "../../../python/repr.ts";
import { asNumber, isNumber } from "../../../python/values.ts";
import type { Value } from "../../../wire/values.ts";
import { describe } from "../../modules/declare/describe.ts";
import { returnerError } from "../contract/errors.ts";
import { functionOf, memberOf, textOf } from "../contract/fields.ts";
import type { Returner } from "../contract/returner.ts";

type Metric = readonly [path: string, value: number];

export const carbonReturner: Returner = {
  name: "carbon",
  doc: describe("Sends the numbers of the return to Carbon as metrics.", "status.loadavg --return carbon"),
  returner: async ({ ret, settings, signal }) => {
    const options = settings.of("carbon", { host: undefined, port: undefined, skip_on_error: undefined, mode: "text" });
    const isSkipping = options.isOn("skip_on_error") || options.isOn("skip");
    if (options.demand("mode").toLowerCase() === "pickle") {
      throw returnerError("carbon.mode: pickle is not built; use text");
    }
    const fun = functionOf(ret);
    // Metrics of virtual machines keep their names when a machine moves to another host.
    const base = fun.startsWith("virt.") ? fun : `${fun}.${textOf(ret, "id").replaceAll(".", "_")}`;
    const seconds = Math.floor(Date.now() / 1_000);
    const lines = metricsOf(base, memberOf(ret, "return"), isSkipping).map(
      ([path, value]) => `${path} ${reprFloat(value)} ${seconds}\n`,
    );
    await sendText(options.demand("host"), options.port("port"), lines.join(""), signal);
  },
};

/** @throws SaltworksError RETURNER_FAILED for a value that is not a number, unless such values are skipped */
function metricsOf(path: string, value: Value, isSkipping: boolean): Metric[] {
  if (value instanceof Map) {
    return [...value].flatMap(([key, member]) => metricsOf(`${path}.${printedOf(key)}`, member, isSkipping));
  }
  if (Array.isArray(value)) {
    return value.flatMap((member) => metricsOf(`${path}.${printedOf(member)}`, member, isSkipping));
  }
  const number = floatOf(value);
  if (number !== undefined) return [[path, number]];
  if (isSkipping) return [];
  throw returnerError(`${path} is not a number: ${printedOf(value)}`);
}

/** Python's `float(value)`, without infinities. */
function floatOf(value: Value): number | undefined {
  if (isNumber(value)) return asNumber(value);
  const text = typeof value === "string" ? value.trim() : "";
  if (/^[+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return Number(text.replaceAll("_", ""));
  return undefined;
}

function sendText(host: string, port: number, text: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const stop = () => socket.destroy();
    signal.addEventListener("abort", stop);
    socket.setTimeout(returnerConnectMs, () => socket.destroy(returnerError(`${host} does not take the metrics`)));
    socket.on("error", reject);
    socket.on("connect", () => socket.end(text));
    socket.resume();
    socket.on("close", (isFailed) => {
      signal.removeEventListener("abort", stop);
      if (!isFailed) resolve();
    });
  });
}
