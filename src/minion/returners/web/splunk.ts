/** Returner `splunk`: sends the return to Splunk's HTTP Event Collector. Source: Salt 3007's `splunk`, which has no other options. */
import { hostname } from "node:os";
import { printedOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Value } from "../../../wire/values.ts";
import { describe } from "../../modules/declare/describe.ts";
import { returnerError } from "../contract/errors.ts";
import { jsonOf } from "../contract/json.ts";
import type { Returner } from "../contract/returner.ts";
import { sendOrFail } from "./request.ts";

export const splunkReturner: Returner = {
  name: "splunk",
  doc: describe("Sends the return to Splunk's HTTP Event Collector, port 8088.", "test.ping --return splunk"),
  returner: async ({ ret, settings, signal }) => {
    const option = (name: string): Value => settings.at(`splunk_http_forwarder:${name}`);
    const demand = (name: string): string => {
      const value = option(name);
      if (value === "" || value === null) throw returnerError(`splunk_http_forwarder:${name} is not set`);
      return printedOf(value);
    };
    const indexer = demand("indexer");
    const token = demand("token");
    const verified = option("verify_ssl");
    const event = new Map<Value, Value>([
      ["time", String(Math.floor(Date.now() / 1_000))],
      ["index", option("index")],
      ["sourcetype", option("sourcetype")],
      ["event", ret],
      ["host", hostname()],
    ]);
    await sendOrFail({
      method: "POST",
      url: `https://${indexer}:8088/services/collector/event`,
      headers: { authorization: `Splunk ${token}` },
      body: jsonOf(event),
      isVerified: verified === "" || isTrue(verified),
      signal,
    });
  },
};
