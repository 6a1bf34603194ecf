import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readAuthSql } from "../../../src/workers/credentials/mysql/auth-sql.ts";

describe("auth_sql", () => {
  for (const [template, sql, values] of [
    [
      'SELECT username FROM users WHERE username = "{0}" AND password = SHA2("{1}", 256)',
      "SELECT username FROM users WHERE username = ? AND password = SHA2(?, 256)",
      [0, 1],
    ],
    ["SELECT 1 FROM u WHERE p=MD5('{1}') AND n={0}", "SELECT 1 FROM u WHERE p=MD5(?) AND n=?", [1, 0]],
    [
      "SELECT 1 FROM u WHERE h = SHA2('salt{0}:{1}x', 256) AND n='{0}'",
      "SELECT 1 FROM u WHERE h = SHA2(CONCAT('salt', ?, ':', ?, 'x'), 256) AND n=?",
      [0, 1, 0],
    ],
    [
      `SELECT 'it''s \\' {{0}}', n FROM \`u\` /* no */ WHERE n="{0}" AND p="{1}" -- end`,
      `SELECT 'it''s \\' {0}', n FROM \`u\` /* no */ WHERE n=? AND p=? -- end`,
      [0, 1],
    ],
  ] as const)
    it(`has parameters: ${template}`, () => assert.deepEqual(readAuthSql(template), { sql, values }));

  it("is refused with other placeholders, or if it does not ask for both", () => {
    for (const [template, reason] of [
      ["SELECT 1 FROM u WHERE n = '{0}'", /has to compare/],
      ["SELECT 1 FROM u WHERE n = '{0}' AND p = '{2}'", /not \{2\}/],
      ["SELECT 1 FROM u WHERE n = '{0}' AND p = '{1!r}'", /not \{1!r\}/],
      ["SELECT 1 FROM u WHERE n = '{0}' AND p = {}", /not \{\}/],
      ["SELECT 1 FROM u WHERE n = '{0}' AND p = '{'", /not \{/],
      ["SELECT 1 FROM `{0}` WHERE p = '{1}'", /in a name/],
      ["SELECT 1 FROM u WHERE n = '{0}' -- {1}", /comment/],
    ] as const)
      assert.throws(() => readAuthSql(template), reason, template);
  });
});
