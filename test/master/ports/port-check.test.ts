import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { freePorts } from "../../../bench/free-ports.ts";
import { withoutNodeVariables } from "../../../src/cli/daemon/node-environment.ts";
import { checkClusterPort, checkPorts } from "../../../src/master/ports/port-check.ts";
import { cliFile } from "../../fleet/our-master.ts";

/** An address of the documentation range, which no machine has. */
const foreignAddress = "192.0.2.1";
/** A user id that test machines do not have. */
const strangerUid = 3_999_999;
const isPrivilegedOpen = readFileSync("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8").trim() === "0";

async function holding<Result>(step: (port: number) => Promise<Result> | Result): Promise<Result> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await step((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}

async function configured(
  changes: Partial<Parameters<typeof checkPorts>[0]>,
): Promise<Parameters<typeof checkPorts>[0]> {
  const [publish = 0, request = 0, metrics = 0] = await freePorts(3);
  const local = "127.0.0.1";
  return {
    interface: local,
    publish_port: publish,
    ret_port: request,
    metrics_interface: local,
    metrics_port: metrics,
    zmq_backlog: 10,
    ...changes,
  };
}

describe("the look at a master's ports before it starts", () => {
  it("reads an interface as the ports do: a star is every address, and a network interface's name its own", async () => {
    for (const name of ["*", "lo"]) await checkPorts(await configured({ interface: name }));
  });

  it("leaves free ports free, and takes none where there are no metrics", async () => {
    await checkPorts(await configured({}));
    await checkPorts(await configured({ metrics_port: 0, metrics_interface: foreignAddress }));
  });

  for (const option of ["publish_port", "ret_port", "metrics_port"] as const) {
    it(`names ${option} and the errno where another process has it`, async () => {
      await holding(async (port) => {
        const message = `${option}: 127.0.0.1:${port} is in use by another process (EADDRINUSE)`;
        const config = await configured({ [option]: port });
        await assert.rejects(checkPorts(config), { code: "MASTER_RUNNING", message, detail: { errno: "EADDRINUSE" } });
      });
    });
  }

  it("names cluster_pool_port of a member where another process has it", async () => {
    await holding(async (port) => {
      const message = `cluster_pool_port: 127.0.0.1:${port} is in use by another process (EADDRINUSE)`;
      const own = checkClusterPort({ interface: "127.0.0.1", cluster_pool_port: port });
      await assert.rejects(own, { code: "MASTER_RUNNING", message, detail: { errno: "EADDRINUSE" } });
      await assert.rejects(checkClusterPort({ interface: "0.0.0.0", cluster_pool_port: port }), /EADDRINUSE/);
    });
    const [free = 0] = await freePorts(1);
    await checkClusterPort({ interface: "127.0.0.1", cluster_pool_port: free });
  });

  it("finds two options with one port", async () => {
    const config = await configured({});
    await assert.rejects(checkPorts({ ...config, ret_port: config.publish_port }), /ret_port: .*EADDRINUSE/);
  });

  it("names an address that is not this machine's, once for each option", async () => {
    const config = await configured({ interface: foreignAddress });
    await assert.rejects(checkPorts(config), {
      code: "PORT_UNUSABLE",
      message: ["publish_port", "ret_port"]
        .map(
          (option) =>
            `interface: ${foreignAddress} is not an address of this machine, so ${option} ${config[option as "ret_port"]} cannot be opened (EADDRNOTAVAIL)`,
        )
        .join("\n"),
    });
    const other = await configured({ metrics_interface: foreignAddress });
    await assert.rejects(checkPorts(other), /metrics_interface: 192\.0\.2\.1 is not .* metrics_port/);
  });

  it("names a port that this user may not open", {
    skip: process.getuid?.() !== 0 || isPrivilegedOpen ? "every port is open to this user, or it is not root" : false,
  }, () => {
    const text = `
      import { checkPorts } from ${JSON.stringify(new URL("../../../src/master/ports/port-check.js", import.meta.url).href)};
      process.setuid(${strangerUid});
      const place = { interface: "127.0.0.1", metrics_interface: "127.0.0.1", metrics_port: 0, zmq_backlog: 1 };
      await checkPorts({ ...place, publish_port: 81, ret_port: 82 }).catch((error) => console.log(error.code, error.message));
    `;
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", text], { encoding: "utf8" });
    assert.match(stdout, /^PORT_UNUSABLE publish_port: this user may not open 127\.0\.0\.1:81 \(EACCES\)\nret_port: /);
  });

  it("ends the command with 1 and one line for each port, before the master makes anything", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ports-"));
    try {
      await holding(async (port) => {
        const config = await configured({ ret_port: port, metrics_port: 0 });
        const places = {
          root_dir: folder,
          pki_dir: `${folder}/pki`,
          cachedir: `${folder}/cache`,
          sock_dir: `${folder}/run`,
        };
        writeFileSync(join(folder, "master"), JSON.stringify({ ...config, ...places, log_file: `${folder}/log` }));
        const ran = spawnSync(process.execPath, [cliFile, "master", "-c", folder], {
          encoding: "utf8",
          env: withoutNodeVariables(process.env),
          timeout: 60_000,
        });
        const said = `saltworks master: ret_port: 127.0.0.1:${port} is in use by another process (EADDRINUSE)\n`;
        assert.deepEqual([ran.stderr.slice(-said.length), ran.status], [said, 1]);
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
