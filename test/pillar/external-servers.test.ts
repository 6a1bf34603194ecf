/** External sources that ask servers: as in Salt, and servers that hang, end, send too much or lead elsewhere. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { ConfigMap } from "../../src/config/yaml/values.ts";
import { extPillarBytesMax } from "../../src/limits.ts";
import type { Value } from "../../src/wire/values.ts";
import { type Answered, compiled, errorsOf, theirs } from "./asked-servers.ts";
import { answersOf, corpusOf } from "./corpus.ts";

type Reply = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly login?: string;
};
type WebCase = { readonly name: string; readonly master: ConfigMap; readonly answers: Readonly<Record<string, Reply>> };

/** Servers of one test. They close with their connections. */
let servers: Server[] = [];
beforeEach(() => {
  servers = [];
});
afterEach(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("web servers give what they give in Salt", () => {
  const answers = answersOf<Answered>("web");
  for (const given of corpusOf<readonly WebCase[]>("web")) {
    it(given.name, async () => {
      const url = await serve((request, response) => {
        const reply = given.answers[request.url ?? ""] ?? { status: 404 };
        const login = `Basic ${Buffer.from(reply.login ?? "").toString("base64")}`;
        const isRefused = reply.login !== undefined && request.headers.authorization !== login;
        const body = (reply.body ?? "").replace("@HEADER@", String(request.headers["x-given"]));
        response.writeHead(isRefused ? 401 : (reply.status ?? 200), reply.headers).end(body);
      });
      const master = JSON.parse(JSON.stringify(given.master).replaceAll("@URL@", url)) as ConfigMap;
      assert.deepEqual((await compiled(master)).pillar, theirs(answers, given.name));
    });
  }
});

describe("a web server", () => {
  it("that never answers is given up at the deadline, and the others after it", async () => {
    const url = await serve(() => undefined);
    const result = await compiled({ ext_pillar: [{ http_json: url }, { http_yaml: url }] }, [], 300);
    const late = (name: string) =>
      `Failed to load ext_pillar ${name}: the sources took longer than ext_pillar_timeout (0.3 seconds)`;
    assert.deepEqual(result.pillar.get("_errors"), [late("http_json"), late("http_yaml")]);
    assert.equal(result.counts.timeout, 2);
  });

  it("that sends without end, ends early or is not there is an error", async () => {
    const chunk = Buffer.alloc(1024 * 1024, "x");
    const url = await serve((request, response) => {
      if (request.url === "/reset") {
        response.writeHead(200, { "content-length": "100" }).write("{");
        setImmediate(() => response.destroy());
        return;
      }
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", more);
      more();
    });
    const endless = await compiled({ ext_pillar_failures: "ignore", ext_pillar: [{ http_json: url }] });
    assert.match(errorsOf(endless), new RegExp(`the server sent more than ${extPillarBytesMax} bytes`));
    assert.equal(endless.counts.tooLarge, 1);
    const reset = await compiled({ ext_pillar: [{ http_json: `${url}/reset` }, { http_yaml: "http://127.0.0.1:1/" }] });
    assert.match(errorsOf(reset), /http_json: .*http_yaml: http:\/\/127\.0\.0\.1:1: ECONNREFUSED/);
  });

  it("that fails is an error, which names neither path nor data", async () => {
    const url = await serve(({ url: path }, response) => {
      response.statusCode = path?.startsWith("/secret") === true ? 503 : 200;
      response.end(path === "/deep" ? "[".repeat(100_000) : '{"password": "hunter2",');
    });
    for (const [path, reason] of [
      ["/secret-token", /Failed to load ext_pillar http_json: http:\/\/127\.0\.0\.1:\d+ answered with 503$/],
      ["/invalid", /JSON data of the server failed to parse$/],
      ["/deep", /JSON data of the server failed to parse$/],
    ] as const) {
      const result = await compiled({ ext_pillar: [{ http_json: url + path }] });
      assert.match(errorsOf(result), reason);
      assert.doesNotMatch(errorsOf(result) + result.faults.join(), /hunter2|token/);
      assert.deepEqual(
        result.sources.map(({ source, isFailed }) => [source, isFailed]),
        [["http_json", true]],
      );
    }
  });

  it("whose question cannot be sent is an error of its own, and the next source still counts", async () => {
    const url = await serve((_request, response) => response.end('{"a": 1}'));
    const broken = { url, header_dict: { "X-Token": "hunter2\r\nX: y" } };
    const unpaired = { url: `${url}/<role>`, with_grains: true };
    const result = await compiled(
      { ext_pillar: [{ http_json: broken }, { http_yaml: unpaired }, { http_json: url }] },
      [["role", "\ud800"]],
    );
    assert.deepEqual(result.pillar.get("_errors"), [
      "Failed to load ext_pillar http_json: it failed: ERR_INVALID_CHAR",
      "Failed to load ext_pillar http_yaml: it failed: URIError",
    ]);
    assert.equal(result.pillar.get("a"), 1);
  });

  it("gets the login of no other server, and ends a circle of redirects", async () => {
    const seen: (string | undefined)[] = [];
    const other = await serve(({ headers }, response) => {
      seen.push(headers.authorization, headers["x-token"] as string | undefined);
      response.end('{"a": 1}');
    });
    const first = await serve(({ url }, response) => {
      response.writeHead(302, { location: url === "/circle" ? "/circle" : other }).end();
    });
    const login = { username: "me", password: "secret", header_dict: { "X-Token": "secret" } };
    const away = await compiled({ ext_pillar: [{ http_json: { url: `${first}/away`, ...login } }] });
    assert.equal(away.pillar.get("a"), 1);
    assert.deepEqual(seen, [undefined, undefined]);
    assert.match(errorsOf(await compiled({ ext_pillar: [{ http_json: `${first}/circle` }] })), /redirects more than 5/);
  });

  it("is asked for no other place because of a grain, and for no file", async () => {
    const asked: (string | undefined)[] = [];
    const url = await serve(({ url: path }, response) => {
      asked.push(path);
      response.end('{"__proto__": {"a": 1}}');
    });
    const ext_pillar = [{ http_json: { url: `${url}/grains/<role>`, with_grains: true } }];
    assert.match(errorsOf(await compiled({ ext_pillar }, [["role", "../admin"]])), /could lead elsewhere/);
    assert.match(errorsOf(await compiled({ ext_pillar })), /the minion has no grain role/);
    assert.deepEqual(asked, []);
    const odd = await compiled({ ext_pillar }, [["role", "a?b=c#d e"]]);
    assert.deepEqual(asked, ["/grains/a%3Fb%3Dc%23d%20e"]);
    assert.deepEqual(odd.pillar.get("__proto__"), new Map([["a", 1]]));
    const file = await compiled({ ext_pillar: [{ http_yaml: "file:///etc/hostname" }] });
    assert.match(errorsOf(file), /the address is not one of http or https/);
  });
});

describe("an address with the minion's values", () => {
  const asked: (string | undefined)[] = [];
  const here = async () => {
    asked.length = 0;
    return await serve(({ url }, response) => {
      asked.push(url);
      response.end('{"a": 1}');
    });
  };

  it("holds the minion's own id, whatever its grains say", async () => {
    const url = await here();
    const ext_pillar = [{ http_json: { url: `${url}/<id>`, with_grains: true } }];
    assert.equal((await compiled({ ext_pillar }, [["id", "other"]])).pillar.get("a"), 1);
    assert.deepEqual(asked, ["/web1.example.org"]);
  });

  it("leads to no other server by a grain in the server's name", async () => {
    const url = await here();
    const other = url.replace("http://", "");
    const port = other.replace("127.0.0.1:", "");
    const refused: readonly (readonly [string, string])[] = [
      ["http://<dc>.cmdb.example/x", `${other}/a`],
      ["http://<dc>.cmdb.example/x", `${other}?`],
      ["http:<dc>.cmdb.example/x", `${other}#`],
      ["http:///<dc>.cmdb.example/x", `${other}\\a`],
      ["http://cmdb.example:<dc>/x", `80@${other}`],
      ["<dc>/x", url],
      ["<dc>://cmdb.example/x", `${url}/`],
    ];
    for (const [address, value] of refused) {
      const given = { url: address, with_grains: true, username: "me", password: "secret" };
      const result = await compiled({ ext_pillar_failures: "ignore", ext_pillar: [{ http_json: given }] }, [
        ["dc", value],
      ]);
      assert.match(errorsOf(result), /a value names another server/, address);
    }
    assert.deepEqual(asked, []);
    const fine = { url: "http://127.0.0.<n>:<port>/<n>/<role>", with_grains: true };
    const more: (readonly [string, Value])[] = [
      ["n", 1],
      ["port", port],
      ["role", "a/b c"],
    ];
    assert.equal((await compiled({ ext_pillar: [{ http_json: fine }] }, more)).pillar.get("a"), 1);
    assert.deepEqual(asked, ["/1/a/b%20c"]);
  });

  it("loses no part of its path by a grain", async () => {
    const url = await here();
    for (const [path, role] of [
      ["grains/<role>", "."],
      ["grains/<role>/secret", "a/./b"],
      ["grains/.<role>", "."],
      ["grains/<role><role>/x", ".."],
      ["grains/%2e<role>/x", "."],
    ] as const) {
      const ext_pillar = [{ http_json: { url: `${url}/${path}`, with_grains: true } }];
      assert.match(errorsOf(await compiled({ ext_pillar }, [["role", role]])), /could lead elsewhere/, path);
    }
    assert.deepEqual(asked, []);
    const ext_pillar = [{ http_json: { url: `${url}/x/../v1.<role>`, with_grains: true } }];
    assert.equal((await compiled({ ext_pillar }, [["role", "2"]])).pillar.get("a"), 1);
    assert.deepEqual(asked, ["/v1.2"]);
  });
});
