/** Returner `mysql`: a row of Salt's table `salt_returns` in MariaDB or MySQL. Source: Salt 3007's `mysql`. */
import { readFile } from "node:fs/promises";
import { returnerConnectMs } from "../../../limits.ts";
import type { ValueMap } from "../../../wire/values.ts";
import { describe } from "../../modules/declare/describe.ts";
import { functionOf, isSuccess, memberOf, textOf } from "../contract/fields.ts";
import { jsonOf, withTexts } from "../contract/json.ts";
import type { Returner } from "../contract/returner.ts";
import type { Options } from "../contract/settings.ts";

/** What this returner uses of the library. */
type MySql = {
  createConnection(options: { readonly [name: string]: unknown }): Promise<{
    query(sql: string, values: readonly (string | boolean)[]): Promise<unknown>;
    end(): Promise<void>;
    destroy(): void;
  }>;
};

const library = { specifier: "mysql2/promise", install: "mysql2@3" };

const sql =
  "INSERT INTO `salt_returns` (`fun`, `jid`, `return`, `id`, `success`, `full_ret`) VALUES (?, ?, ?, ?, ?, ?)";

export const mysqlReturner: Returner = {
  name: "mysql",
  doc: describe("Writes a row of Salt's table `salt_returns` in MariaDB or MySQL.", "test.ping --return mysql"),
  libraries: [library],
  returner: async ({ ret, settings, load, signal }) => {
    const options = settings.of("mysql", {
      ...{ host: "salt", user: "salt", pass: "salt", db: "salt", port: 3306 },
      ...{ ssl_ca: undefined, ssl_cert: undefined, ssl_key: undefined },
    });
    const full = withTexts(ret) as ValueMap;
    const row = [
      ...[functionOf(ret), textOf(ret, "jid"), jsonOf(memberOf(full, "return")), textOf(ret, "id")],
      ...[isSuccess(ret), jsonOf(full)],
    ];
    const { createConnection } = await load<MySql>(library);
    const connection = await createConnection({
      host: textOrNone(options, "host"),
      user: textOrNone(options, "user"),
      password: textOrNone(options, "pass"),
      database: textOrNone(options, "db"),
      port: options.port("port"),
      connectTimeout: returnerConnectMs,
      ...(await securityOf(options)),
    });
    const close = () => connection.destroy();
    signal.addEventListener("abort", close);
    try {
      await connection.query(sql, row);
      await connection.end();
    } finally {
      signal.removeEventListener("abort", close);
      connection.destroy();
    }
  },
};

/** The text `None` stands for an option that is not set, as in Salt. */
function textOrNone(options: Options, name: string): string | undefined {
  const text = options.text(name);
  return text?.toLowerCase() === "none" ? undefined : text;
}

async function securityOf(options: Options): Promise<{ readonly ssl?: { readonly [name: string]: string } }> {
  const ssl: { [name: string]: string } = {};
  for (const [option, name] of [
    ["ssl_ca", "ca"],
    ["ssl_cert", "cert"],
    ["ssl_key", "key"],
  ] as const) {
    const path = textOrNone(options, option);
    if (path !== undefined) ssl[name] = await readFile(path, "utf8");
  }
  return Object.keys(ssl).length === 0 ? {} : { ssl };
}
