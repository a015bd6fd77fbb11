"""The innermost stack, as languages print it."""

from __future__ import annotations

from knowledge.history.words import MOST_FRAMES, Stack, innermost

JAVA = """java.lang.RuntimeException: Failed to start
\tat org.apache.hadoop.http.HttpServer2.start(HttpServer2.java:1255)
\tat org.apache.hadoop.hdfs.server.namenode.NameNode.main(NameNode.java:1700)
Caused by: java.lang.NullPointerException: name
\tat org.apache.hadoop.metrics2.impl.MetricsSystemImpl.register(MetricsSystemImpl.java:241)
\tat org.apache.hadoop.http.HttpServer2.lambda$start$0(HttpServer2.java:1300)
\t... 3 more
"""
PYTHON = """Traceback (most recent call last):
  File "/home/me/train.py", line 10, in main
    trainer.fit()
  File "/opt/conda/lib/python3.10/site-packages/torch/nn/parallel/distributed.py", line 1008, in forward
    self.reducer.prepare_for_backward([])
RuntimeError: Expected to have finished reduction

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/me/cleanup.py", line 3, in close
ValueError: closed
"""


def test_java_names_the_cause_last() -> None:
    stack = innermost(JAVA.splitlines())
    assert stack.exception == "NullPointerException"
    assert stack.frames[0] == "org.apache.hadoop.metrics2.impl.MetricsSystemImpl.register"
    assert "$0" not in stack.frames[1]


def test_python_raises_the_cause_first() -> None:
    stack = innermost(PYTHON.splitlines())
    assert stack.exception == "RuntimeError"
    assert stack.frames == ["parallel/distributed.py:forward", "me/train.py:main"]


def test_frames_do_not_change_with_lines_and_machines() -> None:
    moved = PYTHON.replace("1008", "1127").replace("/opt/conda/lib/python3.10", "/usr/lib/python3")
    assert innermost(moved.splitlines()) == innermost(PYTHON.splitlines())


def test_native_frames() -> None:
    text = """Thread 1 received signal SIGSEGV
#0  0x00007ffff7a42428 in ncclCommInitRank (comm=0x0) at init.cc:1012
#1  0x00007ffff7a4402a in c10d::ProcessGroupNCCL::getNCCLComm (this=0x1) at ProcessGroupNCCL.cpp:99
"""
    assert innermost(text.splitlines()).frames == ["ncclCommInitRank", "c10d::ProcessGroupNCCL::getNCCLComm"]


def test_javascript_frames() -> None:
    text = "TypeError: x is undefined\n    at Bridge.emit (chrome-extension://abc/build/main.js:1:2)\n"
    assert innermost(text.splitlines()) == Stack("TypeError", ["Bridge.emit"])


def test_a_text_without_a_stack_may_name_an_exception() -> None:
    assert innermost(["We see a org.foo.BarException now and then"]) == Stack("BarException")
    assert innermost(["TestDiskError fails"]) == Stack()
    assert innermost([]) == Stack()


def test_a_stack_overflow_keeps_the_innermost() -> None:
    frames = [f"\tat a.b.C.m{n}(C.java:{n})" for n in range(5000)]
    assert innermost(["StackOverflowError", *frames]).frames == [f"a.b.C.m{n}" for n in range(MOST_FRAMES)]
