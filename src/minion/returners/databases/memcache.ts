/** Returner `memcache`: Salt's keys `JID:MINION`, `FUNCTION:MINION`, `minions` and `jids`. Source: Salt 3007's `memcache`. */
import { returnerConnectMs } from "../../../limits.ts";
import { describe } from "../../modules/declare/describe.ts";
import { returnerError } from "../contract/errors.ts";
import { functionOf, textOf } from "../contract/fields.ts";
import { jsonOf } from "../contract/json.ts";
import type { Returner } from "../contract/returner.ts";

type Client = {
  connect(): Promise<void>;
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string, seconds: number, flags: number): Promise<boolean>;
  add(key: string, value: string, seconds: number, flags: number): Promise<boolean>;
  append(key: string, value: string): Promise<boolean>;
  disconnect(): Promise<void>;
  on(event: "error", listener: () => void): void;
};
/** What this returner uses of the library. */
type Memcache = { readonly Memcache: new (options: { readonly [name: string]: unknown }) => Client };

const library = { specifier: "memcache", install: "memcache@1" };
/** Python's client marks texts with it, and reads values without it as bytes, which Salt's lists do not take. */
const textFlag = 16;

export const memcacheReturner: Returner = {
  name: "memcache",
  doc: describe("Keeps the return in memcached, with Salt's keys.", "test.ping --return memcache"),
  libraries: [library],
  returner: async ({ ret, settings, load, signal }) => {
    const options = settings.of("memcache", { host: undefined, port: undefined });
    const [minion, jid, fun] = [textOf(ret, "id"), textOf(ret, "jid"), functionOf(ret)];
    const server = `${options.demand("host")}:${options.port("port")}`;
    const { Memcache } = await load<Memcache>(library);
    const client = new Memcache({ nodes: [server], timeout: returnerConnectMs, lazyConnect: true, retries: 0 });
    // The library repeats here what its methods throw.
    client.on("error", () => undefined);
    const close = () => void client.disconnect().catch(() => undefined);
    signal.addEventListener("abort", close);
    try {
      await client.connect();
      const json = jsonOf(ret);
      for (const key of [`${jid}:${minion}`, `${fun}:${minion}`]) {
        if (!(await client.set(key, json, 0, textFlag))) throw returnerError(`${server} does not keep ${key}`);
      }
      await addToList(client, "minions", minion);
      await addToList(client, "jids", jid);
    } finally {
      signal.removeEventListener("abort", close);
      await client.disconnect();
    }
  },
};

/** Each word of these lists ends with a comma. */
async function addToList(client: Client, key: string, word: string): Promise<void> {
  const listed = (await client.get(key)) ?? "";
  if (listed.split(",").includes(word)) return;
  if (!(await client.append(key, `${word},`))) await client.add(key, `${word},`, 0, textFlag);
}
