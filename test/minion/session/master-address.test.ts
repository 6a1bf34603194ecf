import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { endpointOf, masterAddresses } from "../../../src/minion/session/master-address.ts";

const read = (master: string | readonly string[], isRandom = false) =>
  masterAddresses({ master, master_port: 4506, random_master: isRandom });

describe("masterAddresses", () => {
  it("reads host, host:port, IPv6 with and without brackets, and lists", () => {
    assert.deepEqual(read("salt"), [{ host: "salt", port: 4506 }]);
    assert.deepEqual(read(["10.0.0.1:5506", "m.example.com"]), [
      { host: "10.0.0.1", port: 5506 },
      { host: "m.example.com", port: 4506 },
    ]);
    assert.deepEqual(read("[fe80::1]:7"), [{ host: "fe80::1", port: 7 }]);
    assert.deepEqual(read("::1"), [{ host: "::1", port: 4506 }]);
  });

  it("refuses a text that is not an address, and an empty list", () => {
    for (const master of ["", "a b", "host:0", "host:99999", "host:port", []]) {
      assert.throws(() => read(master), { code: "CONFIG_INVALID" });
    }
  });

  it("tries a whole list in random order with random_master", () => {
    const names = Array.from({ length: 20 }, (_, index) => `m${index}`);
    const hosts = read(names, true).map(({ host }) => host);
    assert.notDeepEqual(hosts, names);
    assert.deepEqual(hosts.sort(), names.sort());
  });

  it("writes endpoints with IPv6 in brackets", () => {
    assert.equal(endpointOf("10.0.0.1", 4505), "tcp://10.0.0.1:4505");
    assert.equal(endpointOf("::1", 4505), "tcp://[::1]:4505");
  });
});
