/** Returner `nats`: publishes the return as JSON on a subject. Salt has none of this kind; the options are ours. */
import { returnerConnectMs } from "../../../limits.ts";
import { strOf } from "../../../python/repr.ts";
import { describe } from "../../modules/declare/describe.ts";
import { jsonOf } from "../contract/json.ts";
import type { Returner } from "../contract/returner.ts";

type Connection = {
  publish(subject: string, body: string): void;
  flush(): Promise<void>;
  close(): Promise<void>;
};
/** What this returner uses of the library. */
type Nats = { connect(options: { readonly [name: string]: unknown }): Promise<Connection> };

const library = { specifier: "@nats-io/transport-node", install: "@nats-io/transport-node@3.1" };

export const natsReturner: Returner = {
  name: "nats",
  doc: describe("Publishes the return as JSON on a subject of NATS.", "test.ping --return nats"),
  libraries: [library],
  returner: async ({ ret, settings, load, signal }) => {
    const options = settings.of("nats", {
      ...{ servers: "127.0.0.1:4222", subject: "salt.returns" },
      ...{ user: undefined, password: undefined, token: undefined },
    });
    const servers = options.value("servers");
    const [user, pass, token] = [options.text("user"), options.text("password"), options.text("token")];
    const { connect } = await load<Nats>(library);
    const connection = await connect({
      servers: Array.isArray(servers) ? servers.map(strOf) : strOf(servers),
      ...(user === undefined ? {} : { user, pass }),
      ...(token === undefined ? {} : { token }),
      ...{ timeout: returnerConnectMs, reconnect: false },
    });
    const close = () => void connection.close().catch(() => undefined);
    signal.addEventListener("abort", close);
    try {
      connection.publish(options.demand("subject"), jsonOf(ret));
      await connection.flush();
    } finally {
      signal.removeEventListener("abort", close);
      await connection.close();
    }
  },
};
