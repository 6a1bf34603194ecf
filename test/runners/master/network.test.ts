import assert from "node:assert/strict";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { encode } from "../../../src/wire/msgpack.ts";
import { callRunner, runnerContext } from "../calling.ts";
import { keptEvents } from "../kept-events.ts";
import { masterAccess } from "../master-access.ts";

const address = "080027136977";
const written = ["08-00-27-13-69-77", "08:00:27:13:69:77", address];

describe("runner network", () => {
  let socket: Socket;
  let folder: string;

  before(async () => {
    socket = createSocket("udp4").bind(0, "127.0.0.1");
    await once(socket, "listening");
    folder = mkdtempSync(join(tmpdir(), "sw-network-"));
  });
  after(() => {
    socket.close();
    rmSync(folder, { recursive: true });
  });

  const to = () => ({ bcast: "127.0.0.1", destport: socket.address().port });
  const packet = async () => ((await once(socket, "message")) as [Buffer])[0].toString("hex");
  const expected = "ff".repeat(6) + address.repeat(16);

  it("sends a packet for an address in each of its forms", async () => {
    for (const text of written) {
      const sent = packet();
      assert.equal(await callRunner(runnerContext(), "network.wol", [text], to()), true);
      assert.equal(await sent, expected);
    }
  });

  it("refuses what is not an address or a port, and says if a packet cannot be sent", async () => {
    for (const [mac, more] of [
      ["08-00", {}],
      ["08-00-27-13-69-7x", {}],
      [address, { destport: 70_000 }],
    ] as const)
      await assert.rejects(callRunner(runnerContext(), "network.wol", [mac], { ...to(), ...more }), {
        code: "FUNCTION_ARGUMENTS",
      });
    const refused = callRunner(runnerContext(), "network.wol", [address], { ...to(), bcast: "nosuch.invalid" });
    await assert.rejects(refused, {
      code: "FUNCTION_FAILED",
      message: /08002713.* could not be sent to nosuch\.invalid/,
    });
  });

  it("wakes each machine of a list, and tells the caller of a list that cannot be read", async () => {
    const list = join(folder, "list");
    writeFileSync(list, `${written[0]}\n ${written[1]}\n`);
    const { fired: events, fire } = keptEvents();
    const context = runnerContext({ master: masterAccess({ fire }) });
    const sent = packet();
    assert.deepEqual(await callRunner(context, "network.wollist", [list], to()), written.slice(0, 2));
    assert.equal(await sent, expected);
    assert.deepEqual(
      events.map(([, data]) => data.get("text")),
      written.slice(0, 2).map((text) => `Waking up ${text}\n`),
    );
    assert.deepEqual(await callRunner(context, "network.wollist", [join(folder, "none")], to()), []);
    assert.match(String(events.at(-1)?.[1].get("error")), /^Failed to open the MAC file\. Error: ENOENT/);
  });

  it("wakes minions by their grains, but for the loopback interface", async () => {
    const interfaces = new Map([
      ["lo", "00:00:00:00:00:00"],
      ["eth0", written[1] ?? ""],
    ]);
    const grains = encode(new Map([["hwaddr_interfaces", interfaces]]), "bin");
    const get = (id: string) => (id === "web1" ? { grains, pillar: encode(new Map(), "bin") } : undefined);
    const minions = { get, getMine: () => undefined, ids: () => ["web1"] };
    const match = async ({ target }: { target: string | readonly string[] }) => [String(target)];
    const context = runnerContext({ minions, master: masterAccess({ match }) });
    const sent = packet();
    assert.deepEqual(await callRunner(context, "network.wolmatch", ["web1"], to()), [written[1]]);
    assert.equal(await sent, expected);
    await assert.rejects(callRunner(context, "network.wolmatch", ["db1"], to()), { code: "FUNCTION_FAILED" });
  });
});
