import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { parse } from "yaml";
import { apiErrorCodes } from "../../src/api/http/error-codes.ts";
import { errorCodes } from "../../src/errors.ts";
import { repositoryRoot } from "../root.ts";
import { ApiSite } from "./api-site.ts";

let site: ApiSite | undefined;

describe("codes of the HTTP API's errors", () => {
  after(async () => await site?.close());

  it("are listed in the documentation, with their status and meaning, and no others are", () => {
    const text = readFileSync(join(repositoryRoot, "docs", "http-api.md"), "utf8");
    const listed = text.split("\n## ").find((part) => part.startsWith("Errors\n")) ?? "";
    const rows = Object.entries(apiErrorCodes).map(
      ([code, { status, about }]) => `| \`${code}\` | ${status} | ${about} |`,
    );
    assert.deepEqual(listed.match(/^\| `.*$/gm), rows);
  });

  it("that the master has as well are never shown with a status that says to try again where the master's does not", () => {
    for (const [code, { status }] of Object.entries(apiErrorCodes)) {
      const own = (errorCodes as Readonly<Record<string, { readonly retry: boolean }>>)[code];
      if (own !== undefined) assert.equal(status >= 502, own.retry, code);
    }
  });

  it("stand in answers of each format, and beside what Salt's clients read", async () => {
    site = await ApiSite.start({});
    const cases = [
      ["/jobs", {}, "SESSION_MISSING"],
      ["/nope", {}, "PATH_UNKNOWN"],
      ["/login", { method: "PUT" }, "METHOD_UNKNOWN"],
      ["/login", { method: "POST", body: "[", headers: { "content-type": "application/json" } }, "REQUEST_UNREADABLE"],
      ["/login", { method: "POST", body: "{}", headers: { "content-type": "image/png" } }, "BODY_TYPE_UNKNOWN"],
      ["/", { headers: { Accept: "image/png" } }, "FORMAT_UNKNOWN"],
      [`/jobs/${"x".repeat(2_000)}`, {}, "PATH_TOO_LONG"],
      ["/%zz", {}, "REQUEST_UNREADABLE"],
    ] as const;
    for (const [path, init, code] of cases) {
      // The document tells of errors before any route in its description only.
      const answer = await fetch(`http://127.0.0.1:${site.port}${path}`, init as RequestInit);
      const body = (await answer.json()) as Record<string, unknown>;
      assert.deepEqual([body.status, body.code], [answer.status, code], path);
      assert.equal(answer.status, apiErrorCodes[code].status, path);
      assert.equal(typeof body.return, "string");
    }
    const yaml = await site.fetch("/jobs", { headers: { Accept: "application/x-yaml" } });
    const text = "No permission -- see authorization schemes";
    assert.deepEqual(parse(await yaml.text()), { status: 401, return: text, code: "SESSION_MISSING" });
  });
});
