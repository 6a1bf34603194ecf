import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { Exit } from "../../../src/cli/host/exit.ts";
import { loginOf } from "../../../src/cli/input/login.ts";
import { understand } from "../../../src/cli/start/command-line.ts";
import { clientConfig } from "../../../src/cli/start/configuration.ts";
import { TestHost } from "../test-host.ts";

let folder: string;
let host: TestHost;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "saltworks-saltfile-"));
  mkdirSync(join(folder, "work"));
  mkdirSync(join(folder, "home", ".salt"), { recursive: true });
  host = new TestHost();
  host.directory = join(folder, "work");
  host.environment = { HOME: join(folder, "home") };
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(path: string, ...lines: string[]): string {
  const file = join(folder, path);
  writeFileSync(file, `${lines.join("\n")}\n`);
  return file;
}

function refusal(argv: string[]): string {
  assert.throws(() => understand("salt", argv, host), new Exit(64));
  return host.err;
}

describe("a Saltfile", () => {
  it("of a home directory that this user may not look into is none, and neither are its settings and token", async () => {
    // Also root gets an error for this name: EACCES and ENAMETOOLONG say as little.
    host.environment = { HOME: join(folder, "home", "x".repeat(300)) };
    assert.equal(understand("salt", ["*", "test.ping"], host).options.configDir, undefined);
    mkdirSync(join(folder, "etc"));
    const config = clientConfig(join(folder, "etc"), host);
    assert.equal(config.timeout, 5);
    const login = { eauth: undefined, isTokenMade: false, username: undefined, password: undefined };
    assert.equal(await loginOf(login, config, host, true), undefined);
  });

  it("gives options that the command line leaves out, to its own program only", () => {
    const section = ["  config_dir: /srv/conf", "  timeout: 9", "  verbose: true", "  show_timeout: false"];
    put("work/Saltfile", "salt:", ...section, "  output: json", "salt-run:", "  config_dir: /elsewhere");
    const { options } = understand("salt", ["--out=txt", "*", "test.ping"], host);
    assert.equal(options.configDir, "/srv/conf");
    assert.equal(options.timeoutSeconds, 9);
    assert.equal(options.isVerbose, true);
    assert.equal(options.isTimeoutHidden, true);
    assert.equal(options.output, "txt");
    assert.equal(understand("run", ["manage.up"], host).options.configDir, "/elsewhere");
    assert.equal(understand("key", [], host).options.configDir, undefined);
  });

  it("is named by the option, else by the environment, else looked for in the working directory, then at home", () => {
    const timeoutOf = (argv: string[]) => understand("salt", [...argv, "*", "test.ping"], host).options.timeoutSeconds;
    assert.equal(timeoutOf([]), undefined);
    put("home/.salt/Saltfile", "salt: {timeout: 1}");
    assert.equal(timeoutOf([]), 1);
    put("work/Saltfile", "salt: {timeout: 2}");
    assert.equal(timeoutOf([]), 2);
    host.environment = { ...host.environment, SALT_SALTFILE: put("third", "salt: {timeout: 3}") };
    assert.equal(timeoutOf([]), 3);
    assert.equal(timeoutOf([`--saltfile=${put("fourth", "salt: {timeout: 4}")}`]), 4);
  });

  it("that is not there, not YAML or holds a wrong value is named", () => {
    assert.match(refusal(["--saltfile=/no/such", "*", "f.g"]), /salt: error: '\/no\/such' file does not exist\.\n$/);
    const file = put("work/Saltfile", "salt:", "  timeout: soon");
    assert.ok(refusal(["*", "f.g"]).endsWith(`salt: error: ${file}: timeout: "soon" is not a value of --timeout\n`));
    put("work/Saltfile", "salt: [");
    assert.match(refusal(["*", "f.g"]), /Saltfile:2: /);
    put("work/Saltfile", "salt-call: {proxyid: p1}");
    assert.throws(() => understand("call", ["test.ping"], host), new Exit(64));
    assert.match(host.err, /Saltfile: option --proxyid is not available in this version\n$/);
  });
});

describe("the user's own file", () => {
  it("goes before the master's: ~/.saltrc, the file of XDG's directory, or what SALT_CLIENT_CONFIG names", () => {
    mkdirSync(join(folder, "etc"));
    put("etc/master", "timeout: 7", "gather_job_timeout: 8");
    const timeouts = () => {
      const { timeout, gather_job_timeout } = clientConfig(join(folder, "etc"), host);
      return [timeout, gather_job_timeout];
    };
    assert.deepEqual(timeouts(), [7, 8]);
    put("home/.saltrc", "timeout: 2");
    assert.deepEqual(timeouts(), [2, 8]);
    mkdirSync(join(folder, "home", ".config", "salt"), { recursive: true });
    put("home/.config/salt/saltrc", "timeout: 3");
    assert.deepEqual(timeouts(), [3, 8]);
    host.environment = { ...host.environment, SALT_CLIENT_CONFIG: put("named", "gather_job_timeout: 1") };
    assert.deepEqual(timeouts(), [7, 1]);
  });

  it("with a wrong value ends the command and is named", () => {
    mkdirSync(join(folder, "etc"));
    const file = put("home/.saltrc", "# mine", "timeout: soon");
    assert.throws(() => clientConfig(join(folder, "etc"), host), new Exit(64));
    assert.ok(host.err.includes(`${file}:2: timeout:`));
  });
});
