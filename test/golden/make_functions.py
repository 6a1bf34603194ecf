"""Asks an installed Salt what its execution functions answer; prints functions.json. Usage: PYTHON make_functions.py > functions.json

PYTHON is the interpreter of an environment with Salt in it; needs root for nothing. See README.md beside this file.
Each case is called as `salt-call --local` calls it, in one process, over a configuration of its own in a temporary directory.
"""
import base64
import contextlib
import io
import json
import logging
import os
import shutil
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
os.environ.clear()
os.environ.update(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME="/usr", SHELL="/bin/sh", FRUIT="apple")

import msgpack
import salt.cli.caller
import salt.config
import salt.utils.yaml
import salt.version

logging.disable(logging.CRITICAL)

MINION = """
id: unit
file_client: local
mylist: [1, 2]
redis.host: rh
mine_functions:
  uptime_raw: [{mine_function: cmd.run}, echo from-config]
  test.ping: {x: 1}
grains:
  os: Debian
  os_family: Debian
  osmajorrelease: 12
  role: [search, data]
  ratio: 1.0
  nothing: null
  place: {dc: nyc, zone: {name: nyc-1, floor: 5}}
  racks: [{row: 1}, {row: 2, name: b}]
"""
PILLAR = """#!yaml
company: Example Corp
ntp: {servers: [ntp1, ntp2]}
app: {name: shop, ports: [80, 443], flags: {debug: false, level: 3, ratio: 1.0}}
tier: front
role: [web]
nothing: null
numbers: {7: seven}
mine_functions:
  test.ping: []
  grains.get: [role]
  greeting: [{mine_function: test.echo}, hello]
  restricted: [{mine_function: grains.get}, id, {allow_tgt: 'web*'}, {allow_tgt_type: glob}]
  kw: {mine_function: network.ip_addrs, include_loopback: true}
  missing.fun: []
master: {foo: bar, mysql.host: h, fromm: {a: 1}}
"""

# One case a line: words as an operator types them, separated by two blanks. `\\n` is a line feed.
TEST = r"""
test.ping
test.ping  a  b
test.ping  a
test.ping  foo=bar  x=1
test.echo  hello  world
test.echo  'hello  world'
test.echo  line one\nline two
test.echo
test.echo  1.0
test.echo  {a: 1, b: [x, null]}
test.echo  text=a=b
test.arg_clean  1  abc  k=1.5  none=None  yes=yes
test.arg_clean
test.fib  abc
test.fib  -1
test.sleep  abc
test.sleep  -1
test.sleep  null
test.sleep  0
test.rand_sleep  0
test.outputter  foobar
test.true
test.false
test.retcode  42
test.retcode
test.exception
test.exception  message=Oh noes
test.raise_exception  TypeError  An error
test.raise_exception  ValueError  a  b
test.raise_exception  KeyError  a
test.raise_exception  salt.exceptions.CommandExecutionError  boom
test.raise_exception  CommandExecutionError  boom
test.raise_exception  len
test.raise_exception  ValueError  k=1
test.raise_exception
test.assertion  True
test.assertion  False
test.cross_test  test.ping
test.cross_test  test.echo  [hi]
test.conf_test
test.try
test.tty  x
test.deprecation_warning
test.provider  nosuchmodule
"""
CMD = r"""
cmd.run  echo hello; echo $FRUIT
cmd.run  echo $FRUIT; echo two  python_shell=False
cmd.run  echo out; echo err >&2
cmd.run  echo out; echo err >&2  redirect_stderr=False
cmd.run_stdout  echo out; echo err >&2
cmd.run_stderr  echo out; echo err >&2
cmd.run_all  echo out; echo err >&2; exit 3
cmd.run_all  echo out; echo err >&2  redirect_stderr=True
cmd.run_all  echo out  hide_output=True
cmd.retcode  exit 3
cmd.retcode  'true'
cmd.run  3
cmd.run  pwd
cmd.run  pwd  cwd=/usr/bin
cmd.run  pwd  cwd=/nosuchdir
cmd.run  pwd  cwd=relative
cmd.run  echo $FOO-$BAR  env={FOO: a, BAR: "2"}
cmd.run  echo $FOO  env=[{FOO: x}]
cmd.run  echo $FOO-$BAR  env=[{FOO: x}, {BAR: y, C: d}]
cmd.run  echo "[$FOO]"  env={FOO: null}
cmd.run  echo $FOO  env={FOO: true}
cmd.run  echo $LC_TIME-$LANGUAGE-$LC_ALL
cmd.run  echo $LC_TIME-$LANGUAGE  reset_system_locale=False
cmd.run  echo "[$FRUIT]"  clean_env=True
cmd.run  echo $PATH | cut -d: -f1,2  prepend_path=/x/y
cmd.run  exec sleep 5  timeout=0.2
cmd.run_all  exec sleep 5  timeout=0.2
cmd.retcode  exec sleep 5  timeout=0.2
cmd.run  sleep 5  timeout=0.2  python_shell=False
cmd.run  echo a  timeout=abc
cmd.run  cat  stdin=from stdin
cmd.run  cat  stdin=one\\ntwo
cmd.run  echo $0  shell=/bin/sh
cmd.run  echo a  shell=/nosuch/sh
cmd.run  exit 3
cmd.run  exit 3  ignore_retcode=True
cmd.run  exit 3  success_retcodes=[3]
cmd.run  exit 3  success_retcodes=2,3
cmd.run  exit 3  success_retcodes=x
cmd.run  echo good; exit 3  success_stdout=good
cmd.run  echo good >&2; exit 3  success_stderr=good  redirect_stderr=False
cmd.run  echo x; exit 3  raise_err=True
cmd.run  echo x; exit 3  raise_err=True  output_loglevel=quiet
cmd.run  echo x  hide_output=True
cmd.run  umask  umask=077
cmd.run  umask  umask=0
cmd.run  umask  umask=abc
cmd.run  exec sleep 0.1  bg=True
cmd.run_all  exec sleep 0.1  bg=True
cmd.run  printf "\\377\\376"
cmd.run  printf "a\\377b\\303\\050\\355\\240\\200 \\360\\237\\230 z"
cmd.run  printf "caf\\351"  output_encoding=latin-1
cmd.run  printf "caf\\351"  output_encoding=ascii
cmd.run  echo x  output_encoding=nosuch
cmd.run  printf 'a\\n\\n \\t\\n'
cmd.run  printf 'a\\n\\n'  rstrip=False
cmd.run  kill -9 $$
cmd.run_all  kill -15 $$
cmd.run  nosuchcmd  python_shell=False
cmd.run  [echo, a b, c]  python_shell=False
cmd.run  [echo $0 $1, a b, c]
cmd.run  echo 'a b' "c \\"d" e\\ f  python_shell=False
cmd.run  echo 'a b  python_shell=False
cmd.run  echo a\\  python_shell=False
cmd.run
cmd.run  id  runas=no-such-user
cmd.shell  echo a | tr a b
cmd.shell  echo a | tr a b  python_shell=False
cmd.which  /bin/sh
cmd.which  nosuch
cmd.which_bin  [nosuch, /bin/sh]
cmd.which_bin  nosuch
cmd.has_exec  nosuch
cmd.has_exec  sh
cmd.exec_code  sh  echo $((40 + 2))
cmd.exec_code_all  sh  echo "$# $1"; exit 2  args=[a b, c]
cmd.exec_code_all  sh  echo "$# $1"  args=a b
cmd.tty  foo  x
cmd.tty  pts9999  x
cmd.script  /nosuch/script
cmd.script  salt://nope.sh
cmd.script  salt://hello.sh
cmd.script  salt://hello.sh  args=world "a b" 4
cmd.script  salt://hello.sh  args=[x y, z, 0]
cmd.script_retcode  salt://hello.sh  args=a b 4
"""
GRAINS = r"""
grains.item  os  role  nosuch
grains.item  role:0  nosuch  default=x
grains.item  place|dc  delimiter=|
grains.get  role
grains.get  role:1
grains.get  role:-1
grains.get  role:7
grains.get  place:zone:name
grains.get  place/zone/floor  delimiter=/
grains.get  racks:row
grains.get  racks:name
grains.get  racks:1:name
grains.get  nosuch  dflt
grains.get  nosuch
grains.get  nothing  dflt
grains.get  os:x
grains.get  5
grains.fetch  ratio
grains.has_value  os
grains.has_value  nothing
grains.has_value  nosuch
grains.equals  os  Debian
grains.equals  osmajorrelease  12
grains.equals  ratio  1.0
grains.equals  ratio  1
grains.equals  role  [search, data]
grains.filter_by  {RedHat: rh, Debian: deb, default: none}
grains.filter_by  {RedHat: rh, default: none}
grains.filter_by  {RedHat: rh}
grains.filter_by  {'D*': {a: 1}}  merge={b: 2, a: 3}
grains.filter_by  {sea*: x, data: y}  role
grains.filter_by  {base: {a: 1, c: {d: 1}}, Debian: {b: 2, c: {e: 2}}}  base=base
grains.filter_by  {12: twelve}  osmajorrelease
grains.filter_by  {A: 1}  merge=x
grains.setval  color  blue
grains.get  color
grains.append  tags  x
grains.append  tags  x
grains.append  tags  [y, z]
grains.remove  tags  x
grains.remove  tags  q
grains.remove  color  q
grains.append  color  q
grains.append  color  q  convert=True
grains.set  site:rack  7
grains.set  site:rack  7
grains.set  site:rack  8
grains.set  site:dc:name  a
grains.set  site  x
grains.set  site  x  force=True
grains.set  site:deep  x
grains.set  site:deep  y  force=True
grains.set  newg  {a: 1}
grains.set  newg  {a: 2}
grains.set  simple  1
grains.set  simple  [1]
grains.delval  color  destructive=True
grains.delval  color  destructive=True  force=True
grains.has_value  color
grains.delval  simple
grains.get  simple
grains.has_value  simple
grains.delkey  tags
grains.delkey  tags  force=True
grains.has_value  tags
grains.delkey  simple
grains.delkey  nosuchg
grains.append  a:b:c  1
grains.append  a:b:c  2
grains.append  a:b:d  2
grains.remove  a:b:c  1
grains.get  a
grains.set  lst  [web, {db: 1}]
grains.set  lst:web  5
grains.set  lst:db  6
grains.set  lst:new  7
grains.get  lst
grains.setvals  {p: 1, q: 2.0, r: null}
grains.setvals  x
grains.get  q
grains.setval  p  null  destructive=True
grains.has_value  p
grains.set  yes_t  'yes'
grains.set  n1  '1'
grains.set  f1  1.0
grains.set  uni  café ✓
grains.item  yes_t  n1  f1  uni  q  r  lst  newg  site
"""
PILLAR_CONFIG = r"""
pillar.get  app:name
pillar.get  app
pillar.get  app:ports:1
pillar.get  app:flags:debug
pillar.get  app:flags:ratio
pillar.get  nothing
pillar.get  nothing  dd
pillar.get  numbers:7
pillar.get  app:nosuch  dd
pillar.get  nosuch
pillar.get  app|name  delimiter=|
pillar.fetch  tier
pillar.get  app  {name: x, extra: 1, flags: {more: 1}}  merge=True
pillar.get  ntp:servers  [a, ntp1]  merge=True
pillar.get  app  [1]  merge=True
pillar.get  app  txt  merge=True
pillar.get  app  {ports: [1, 80]}  merge=True  merge_nested_lists=True
pillar.items  tier  app:name
pillar.items  tier  nosuch
pillar.item  tier  app:name  nosuch
pillar.item  tier  app|name  delimiter=|  default=z  nosuch
pillar.ls
pillar.keys  app
pillar.keys  app:flags
pillar.keys  tier
pillar.keys  nosuch
pillar.raw  tier
pillar.raw  key=app
pillar.raw  nosuch
pillar.obfuscate
pillar.obfuscate  tier
pillar.items  bogus=1
pillar.filter_by  {front: F, back: B}  tier
pillar.filter_by  {w*: W, default: D}  role
config.get  tier
config.get  nosuch
config.get  nosuch  default=7
config.get  id
config.get  mine_interval
config.get  mine_functions
config.merge  mine_functions
config.merge  mylist
config.merge  nosuch
config.get  foo
config.get  fromm:a
config.option  foo
config.option  mysql.host
config.option  nosuch
config.option  test.foo
config.option  mylis*  wildcard=True
config.option  nosuch*  wildcard=True
config.dot_vals  mysql
config.dot_vals  redis
config.get  app:flags:level
config.get  app:flags  merge=recurse
config.get  role
config.get  role  omit_grains=True
config.get  tier  omit_pillar=True
config.get  redis.host
config.get  mylist:1
config.get  test.foo
config.get  cmd_safe
config.backup_mode  minion
config.backup_mode
config.manage_mode  644
config.manage_mode  keep
config.manage_mode  '0755'
config.valid_fileproto  salt://x
config.valid_fileproto  /x
mine.valid
status.custom
"""
NETWORK = r"""
network.calc_net  172.17.0.5  255.255.255.240
network.calc_net  172.17.0.5/26
network.calc_net  172.17.0.5
network.calc_net  2a02:f6e:a000:80:84d8:8332:7866:4e07/64
network.calc_net  bogus
network.convert_cidr  172.31.5.7/16
network.convert_cidr  fd00::5/64
network.ip_in_subnet  172.17.0.4  172.16.0.0/12
network.ip_in_subnet  172.17.0.4  10.0.0.0/8
network.ip_in_subnet  172.17.0.4  172.16.0.1/12
network.ip_in_subnet  bogus  10.0.0.0/8
network.is_private  10.0.0.3
network.is_private  8.8.8.8
network.is_private  192.0.2.1
network.is_private  100.64.0.1
network.is_private  fd00::1
network.is_private  2a02::1
network.is_private  bogus
network.is_loopback  127.8.0.1
network.is_loopback  ::1
network.is_loopback  8.8.8.8
network.reverse_ip  172.17.0.4
network.reverse_ip  fd00::1
network.iphexval  10.0.0.1
network.in_subnet  127.0.0.0/8
network.in_subnet  bogus
network.ip_addrs  lo
network.ip_addrs  lo  True
network.ip_addrs  nosuch*
network.interface_ip  lo
disk.percent  /nosuch
status.diskusage  /nosuch
status.master
status.ping_master  ''
status.time  %%
event.fire_master  {a: 1}  my/tag
saltutil.running
saltutil.find_job  20261120155014383034
saltutil.is_running  test.*
saltutil.kill_job  20261120155014383034
saltutil.signal_job  20261120155014383034  9
saltutil.term_all_jobs
saltutil.kill_all_jobs
saltutil.refresh_grains  bogus=1
saltutil.find_cached_job  20261120155014383034
saltutil.sync_all  refresh=False
saltutil.sync_modules  refresh=False
saltutil.sync_proxymodules
saltutil.sync_sdb
sys.argspec  test.echo
sys.argspec  nosuch.x
sys.list_functions  nosuch
sys.list_modules  test  cmd
"""
SUITES = {"test": TEST, "cmd": CMD, "grains": GRAINS, "pillar_config": PILLAR_CONFIG, "facts": NETWORK}
MODULES = ["cmd", "config", "cp", "data", "disk", "event", "file", "grains", "hosts", "key", "match", "mine", "minion", "network", "pillar", "publish", "saltutil", "schedule", "service", "status", "sys", "test", "user"]


def start(root):
    shutil.rmtree(root, ignore_errors=True)
    for name in ("etc", "pillar", "files"):
        os.makedirs(f"{root}/{name}")
    files = {
        "etc/minion": f"{MINION}root_dir: {root}/root\npillar_roots: {{base: [{root}/pillar]}}\nfile_roots: {{base: [{root}/files]}}\n",
        "pillar/top.sls": "base: {'*': [p]}\n",
        "pillar/p.sls": PILLAR,
        "files/hello.sh": '#!/bin/sh\necho "hello $1 from script"\nexit ${3:-0}\n',
    }
    for name, text in files.items():
        with open(f"{root}/{name}", "w") as out:
            out.write(text)
    opts = salt.config.minion_config(f"{root}/etc/minion")
    opts.update(file_client="local", local=True, print_metadata=False, metadata=False, no_return_event=True, fun="test.ping", arg=[], __cli="salt-call")
    return salt.cli.caller.BaseCaller(opts)


def plain(value):
    if isinstance(value, dict):
        return {key: 0 if key == "pid" else plain(item) for key, item in value.items() if not str(key).startswith("__pub_")}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def ask(caller, words):
    caller.opts.update(fun=words[0], arg=words[1:])
    caller.minion.functions.pack["__context__"]["retcode"] = 0
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            answer = caller.call()
        value = msgpack.packb(plain(answer["return"]), use_bin_type=True)
        return {"value": base64.b64encode(value).decode(), "retcode": answer.get("retcode", 0)}
    except SystemExit:
        text = errors.getvalue().strip()
        for start_text, kind in ((f"Error running '{words[0]}': ", "command"), ("Passed invalid arguments: ", "type")):
            if text.startswith(start_text):
                return {"error": text[len(start_text):].split(".\n\nUsage")[0], "kind": kind}
        raise
    except Exception as exc:
        return {"error": str(exc), "kind": type(exc).__name__}


def main():
    root = tempfile.mkdtemp(prefix="make-functions-")
    suites = {}
    for name, text in SUITES.items():
        caller = start(root)
        lines = [line for line in text.strip("\n").split("\n")]
        cases = [[word.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\") for word in line.split("  ")] for line in lines]
        suites[name] = [{"words": words, **ask(caller, words)} for words in cases]
    specs = {}
    for module in MODULES:
        specs.update(caller.minion.functions["sys.argspec"](module))
    for spec in specs.values():
        spec["defaults"] = [str(item) if not isinstance(item, (int, float, str, list, dict, type(None))) else item for item in spec["defaults"]] if spec["defaults"] else None
    shutil.rmtree(root)
    pillar = caller.minion.functions["pillar.raw"]()
    written = salt.utils.yaml.safe_load(MINION)["grains"]
    packed = {name: base64.b64encode(msgpack.packb(value, use_bin_type=True)).decode() for name, value in {"pillar": pillar, "grains": written, "signatures": specs}.items()}
    print(json.dumps({"salt": salt.version.__version__, "minion": MINION, **packed, "suites": suites}, indent=1))


main()
sys.stdout.flush()
os._exit(0)
