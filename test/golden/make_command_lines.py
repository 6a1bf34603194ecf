"""Asks an installed Salt how its programs take generated command lines apart; prints command_lines.json. Usage: PYTHON make_command_lines.py [SEED [COUNT]] > command_lines.json

PYTHON is the interpreter of an environment with Salt in it. Only Salt's reading of options is asked, not what its programs then check or do.
"""
import contextlib
import io
import json
import optparse
import random
import sys

import salt.utils.parsers
import salt.version

RNG = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 20261120)
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 60
PARSERS = {
    "salt": salt.utils.parsers.SaltCMDOptionParser,
    "key": salt.utils.parsers.SaltKeyOptionParser,
    "run": salt.utils.parsers.SaltRunOptionParser,
    "call": salt.utils.parsers.SaltCallOptionParser,
    "cp": salt.utils.parsers.SaltCPOptionParser,
    "master": salt.utils.parsers.MasterOptionParser,
    "minion": salt.utils.parsers.MinionOptionParser,
}
WORDS = """es1 * test.ping a=1 -- - -x --x -5 -1 --nosuch --no --no-c --no-color --no-colour=1 -t 5 -t5 -t=5 -t -5 -t abc -t0x1f -t 010 -t08 -t1_0 -t+5 -t1.5 --timeout=7 --timeout 7 --tim 7 --ti=8 --t --timeout= --timeout=-3
-c /x -c/x --config-dir=/x --conf /y --config-dir -v -vs -vsx -svt9 -vt --verb --verbose=1 --ver --v -s --sta --stat --static --show --hide --summ -E -L -G -P -C -S -EL --pcre --grain --grain- --grain-p --compound --delimiter=/ --delim
--out=json --out json --out -v --output=yaml --outp --out- --out-i=-1 --out-indent -1 --out-indent=x --out-file=f --out-file-append --out-file-a --force-c --state_output=terse --state-output terse --state-o --state_v=True
-l info -linfo -l bogus --log-level=debug --log-l quiet --log-level=INFO -y -q -yq -a app* -aapp --accept=x --acc --accept-all --include-d -A -R -D -F -P -d x -f y -p z --list-all --list un -l un -lun --local --master=m --id x --id= --metadata -g -gd --retcode --retcode-passthrough --quiet --args-stdin --no-parse=a,b --no-parse a --args-sep :: --async --asy
-N -R -I -J -H -b -b2 --batch=10% --batch-si 3 --batch-safe-l=5 --subset=2 --sub 0x2 --subset=a --failhard --fail -p -vp --progress --prog --hard --hard-crash --module-exec=[a] --executor-opts={a:1} --executor --saltfile=F --salt G --return=r --return_c=x --return_kwargs={}
--metadata={a:1} --meta x --config-dump --conf --config --preview --preview-target --nodeg --range --chunked -C -n --no-comp --jid=1 --gen-keys=x --gen-keys-dir d --gen-sig --auto-create --keysize=1 --user=u -u u --rotate-aes-key=False --preserve-minions=1 --skip-grains --cachedir=/c -m d --module-dirs=e é --é -é""".split()
NAMES = {
    "timeoutSeconds": "timeout", "configDir": "config_dir", "isVerbose": "verbose", "isStatic": "static", "isTimeoutHidden": "!show_timeout", "isJidShown": "show_jid", "isSummaryShown": "cli_summary",
    "isAsync": "async", "argsSeparator": "args_separator", "isStateDiffOnly": "state_output_diff", "pcre": "pcre", "list": "list", "grain": "grain", "grain_pcre": "grain_pcre", "compound": "compound", "ipcidr": "ipcidr",
    "delimiter": "delimiter", "output": "output", "outputIndent": "output_indent", "outputFile": "output_file", "isOutputFileAppended": "output_file_append", "isColourOff": "no_color", "isColourForced": "force_color",
    "stateOutput": "state_output", "stateVerbose": "state_verbose", "logLevel": "log_level", "logFile": "log_file|key_logfile", "logFileLevel": "log_level_logfile", "isStdinRead": "args_stdin", "noParse": "no_parse", "isQuiet": "quiet", "isYes": "yes",
    "isListAll": "list_all", "accept": "accept", "isAcceptAll": "accept_all", "reject": "reject", "isRejectAll": "reject_all", "isAllIncluded": "include_all", "isAcceptedIncluded": "include_accepted", "isRejectedIncluded": "include_rejected",
    "isDeniedIncluded": "include_denied", "print": "print", "isPrintAll": "print_all", "delete": "delete", "isDeleteAll": "delete_all", "finger": "finger", "isFingerAll": "finger_all", "isGrainsAsked": "grains_run", "isDocAsked": "doc",
    "saltfile": "saltfile", "moduleExecutors": "module_executors", "executorOpts": "executor_opts", "isHardCrash": "hard_crash", "isProgressShown": "progress", "isFailHard": "failhard", "subset": "subset",
    "batch": "batch", "batchSafeLimit": "batch_safe_limit", "batchSafeSize": "batch_safe_size", "returner": "return", "returnConfig": "return_config", "returnKwargs": "return_kwargs", "metadata": "metadata",
    "isConfigDumped": "config_dump", "isPreviewAsked": "preview_target", "hosts": "list_hosts", "nodegroup": "nodegroup", "range": "range", "pillar": "pillar_target", "pillar_pcre": "pillar_pcre", "user": "user",
    "rotateAesKey": "rotate_aes_key", "preserveMinions": "preserve_minions", "generatedName": "gen_keys", "generatedDir": "gen_keys_dir", "keySizeBits": "keysize", "isSignatureAsked": "gen_signature",
    "signingKeyFile": "priv", "signatureDir": "signature_path", "signedKeyFile": "pub", "isSigningKeyMade": "auto_create", "jid": "jid", "isSkippingGrains": "skip_grains", "cachedir": "cachedir",
    "moduleDirs": "module_dirs", "fileRoot": "file_root", "pillarRoot": "pillar_root", "statesDir": "states_dir", "isGrainsCacheRefreshed": "refresh_grains_cache", "authTimeoutSeconds": "auth_timeout",
    "isChunked": "chunked", "isCompressionOff": "!gzip", "master": "master", "isLocal": "local", "isRetcodePassed": "retcode_passthrough", "isMetadataShown": "print_metadata", "id": "id", "isReturnEventOff": "no_return_event",
    "isDaemon": "daemon", "pidFile": "pidfile", "eauth": "eauth", "isTokenMade": "mktoken", "username": "username", "password": "password",
}


def read(name, argv):
    parser = PARSERS[name]()
    parser.prog = {"salt": "salt"}.get(name, "salt-" + name)
    out = io.StringIO()
    parser.error = lambda message: (_ for _ in ()).throw(ValueError(message))
    unset = optparse.Values(dict.fromkeys(parser.defaults))
    try:
        with contextlib.redirect_stdout(out):
            options, words = optparse.OptionParser.parse_args(parser, list(argv), unset)
    except ValueError as error:
        return {"error": str(error)}
    except SystemExit:
        return {"shown": True}
    given = {}
    for key, dest in NAMES.items():
        values = [getattr(options, one, None) for one in dest.lstrip("!").split("|")]
        value = next((one for one in values if one is not None), None)
        if value is not None:
            given[key] = not value if dest.startswith("!") else value
    return {"given": given, "words": words}


def main():
    cases = []
    for name in PARSERS:
        for word in WORDS:
            cases.append([name, [word]])
            cases.append([name, [word, "5", "es1"]])
        for _ in range(COUNT):
            cases.append([name, [RNG.choice(WORDS) for _ in range(RNG.choice((2, 3, 4, 5)))]])
    options = {}
    for name, parser in PARSERS.items():
        parser = parser()
        groups = [("", parser.option_list)] + [(group.title, group.option_list) for group in parser.option_groups]
        options[name] = [[title, [one._short_opts + one._long_opts for one in members]] for title, members in groups]
    json.dump({"salt": salt.version.__version__, "options": options, "cases": [[n, a, read(n, a)] for n, a in cases]}, sys.stdout, ensure_ascii=True, separators=(",", ":"))


main()
