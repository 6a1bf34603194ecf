/** Returner `influxdb`: a point of the measurement `returns`, by InfluxDB's line protocol. Source: Salt 3007's `influxdb`, for 0.9 and later. */
import type { ValueMap } from "../../../wire/values.ts";
import { describe } from "../../modules/declare/describe.ts";
import { functionOf, memberOf, textOf } from "../contract/fields.ts";
import { jsonOf } from "../contract/json.ts";
import type { Returner } from "../contract/returner.ts";
import { sendOrFail } from "./request.ts";

export const influxdbReturner: Returner = {
  name: "influxdb",
  doc: describe("Writes a point of the measurement `returns` to InfluxDB.", "test.ping --return influxdb"),
  returner: async ({ ret, settings, signal }) => {
    const names = { host: undefined, port: 8086, db: undefined, user: "root", password: "root" };
    const options = settings.of("influxdb", names);
    const login = `${options.demand("user")}:${options.demand("password")}`;
    const database = encodeURIComponent(options.demand("db"));
    await sendOrFail({
      method: "POST",
      url: `http://${options.demand("host")}:${options.port("port")}/write?db=${database}`,
      headers: {
        authorization: `Basic ${Buffer.from(login).toString("base64")}`,
        "content-type": "application/octet-stream",
      },
      body: pointOf(ret),
      signal,
    });
  },
};

/** Tags and fields in the order of their names, as InfluxDB's own client writes them. */
function pointOf(ret: ValueMap): string {
  const tags = [
    ["fun", functionOf(ret)],
    ["id", textOf(ret, "id")],
    ["jid", textOf(ret, "jid")],
  ].map(([name, value = ""]) => `${name}=${tagText(value)}`);
  const rest: ValueMap = new Map(ret);
  rest.delete("return");
  const fields = [
    ["full_ret", jsonOf(rest)],
    ["return", jsonOf(memberOf(ret, "return"))],
  ].map(([name, value = ""]) => `${name}=${fieldText(value)}`);
  return `returns,${tags.join(",")} ${fields.join(",")}\n`;
}

function tagText(text: string): string {
  return text.replace(/[ ,=\\]/g, (sign) => `\\${sign}`).replaceAll("\n", "\\n");
}

function fieldText(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
}
