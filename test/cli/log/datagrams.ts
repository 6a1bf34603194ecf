/** Receives datagrams on a Unix socket. Node.js cannot, so a small Python program does, and prints each as a line of JSON. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface, type Interface } from "node:readline";

const program = `
import json, socket, sys
name = sys.argv[1]
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind("\\0" + name[1:] if name.startswith("@") else name)
print(json.dumps("bound"), flush=True)
while True:
    print(json.dumps(receiver.recv(65536).decode("utf-8", "replace")), flush=True)
`;

export class Datagrams {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;

  private constructor(path: string) {
    this.#child = spawn("python3", ["-c", program, path], { stdio: ["ignore", "pipe", "inherit"] });
    assert.ok(this.#child.stdout);
    this.#reader = createInterface({ input: this.#child.stdout });
    this.#lines = this.#reader[Symbol.asyncIterator]();
  }

  /** `@name` is an address in Linux' abstract namespace. */
  static async bind(path: string): Promise<Datagrams> {
    const datagrams = new Datagrams(path);
    assert.equal(await datagrams.next(), "bound");
    return datagrams;
  }

  async next(): Promise<string> {
    const { value, done } = await this.#lines.next();
    assert.notEqual(done, true, "the receiver ended");
    return JSON.parse(String(value)) as string;
  }

  async until(pattern: RegExp): Promise<string> {
    for (;;) {
      const text = await this.next();
      if (pattern.test(text)) return text;
    }
  }

  close(): void {
    this.#reader.close();
    this.#child.kill("SIGKILL");
  }
}
