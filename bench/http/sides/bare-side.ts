/** The bare fastify server of `bare-server.ts` as a process of its own. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { BareRoutes } from "./bare-server.ts";

const script = fileURLToPath(new URL("bare-server.js", import.meta.url));

export class BareSide {
  readonly name = "bare fastify";
  readonly url: string;
  readonly #close: () => void;

  private constructor(port: number, close: () => void) {
    this.url = `http://127.0.0.1:${port}`;
    this.#close = close;
  }

  static async open(routes: BareRoutes): Promise<BareSide> {
    const child = fork(script, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    child.send(routes);
    const [port] = (await once(child, "message")) as [number];
    return new BareSide(port, () => child.disconnect());
  }

  close(): void {
    this.#close();
  }
}
