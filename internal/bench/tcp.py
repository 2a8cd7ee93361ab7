"""TCP payload between two pods whose images have no iperf3: serve PORT | send ADDRESS PORT SECONDS STREAMS."""
import multiprocessing
import socket
import sys
import time

CHUNK = 1 << 20


def receive(connection):
    connection.settimeout(60)
    buffer, total = bytearray(CHUNK), 0
    while True:
        n = connection.recv_into(buffer)
        if n == 0:
            break
        total += n
    connection.sendall(b"%d\n" % total)
    connection.close()


def serve(port):
    listener = socket.create_server(("", port), family=socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET,
                                    dualstack_ipv6=socket.has_dualstack_ipv6(), backlog=64)
    listener.settimeout(60)
    first, _ = listener.accept()
    streams = int(first.makefile().readline())
    workers = []
    for _ in range(streams):
        connection, _ = listener.accept()
        worker = multiprocessing.Process(target=receive, args=(connection,))
        worker.start()
        connection.close()
        workers.append(worker)
    for worker in workers:
        worker.join()


def push(connection, seconds, received):
    chunk, end = b"\0" * CHUNK, time.monotonic() + seconds
    while time.monotonic() < end:
        connection.sendall(chunk)
    connection.shutdown(socket.SHUT_WR)
    received.put(int(connection.makefile().readline()))


def send(address, port, seconds, streams):
    control = socket.create_connection((address, port), timeout=10)
    control.sendall(b"%d\n" % streams)
    received, workers = multiprocessing.Queue(), []
    connections = [socket.create_connection((address, port), timeout=10) for _ in range(streams)]
    begun = time.monotonic()
    for connection in connections:
        connection.settimeout(60)
        worker = multiprocessing.Process(target=push, args=(connection, seconds, received))
        worker.start()
        workers.append(worker)
    total = sum(received.get(timeout=seconds + 10) for _ in workers)
    took = time.monotonic() - begun
    for worker in workers:
        worker.join()
    print("[tcp] bytes=%d seconds=%.6f streams=%d" % (total, took, streams), flush=True)


multiprocessing.set_start_method("fork")
if sys.argv[1] == "serve":
    serve(int(sys.argv[2]))
else:
    send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
