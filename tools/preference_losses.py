#!/usr/bin/env python3
"""Prints the reference values of tests/rlhf/dpo/dpo_losses_test.cpp: the losses of DPO, IPO, SimPO and KTO as their
papers write them, in decimals of 50 digits, and their derivatives by differences of those.

usage: preference_losses.py"""
from decimal import Decimal as D
from decimal import getcontext

getcontext().prec = 50


def sigmoid(x):
    return 1 / (1 + (-x).exp())


def dpo(chosen, rejected, ref_chosen, ref_rejected, beta):
    return -sigmoid(beta * (chosen - ref_chosen) - beta * (rejected - ref_rejected)).ln()


def ipo(chosen, rejected, ref_chosen, ref_rejected, beta):
    h = (chosen - rejected) - (ref_chosen - ref_rejected)
    return (h - 1 / (2 * beta)) ** 2


def simpo(chosen, rejected, beta, gamma):
    return -sigmoid(beta * chosen - beta * rejected - gamma).ln()


def kto(log_ratio, desirable, point, beta, weight):
    value = weight * sigmoid(beta * (log_ratio - point)) if desirable else weight * sigmoid(beta * (point - log_ratio))
    return weight - value


def show(name, loss, at):
    step = D(10) ** -15
    slope = (loss(at + step) - loss(at - step)) / (2 * step)
    print(f"{name:6} {loss(at):.17f} {slope:.17f}")


PAIR = [D(x) for x in ("-12", "-11", "-9")]  # rejected, chosen and rejected under the reference
for beta in ("0.1", "0.7"):
    show("dpo", lambda x: dpo(x, *PAIR, D(beta)), D(-10))
    show("ipo", lambda x: ipo(x, *PAIR, D(beta)), D(-10))
for beta, gamma in (("2", "1"), ("2.5", "0")):
    show("simpo", lambda x: simpo(x, D("-1.1"), D(beta), D(gamma)), D("-0.7"))
for desirable, point, weight in ((True, "0", "1"), (True, "1.5", "1.2"), (False, "1.5", "0.8"), (False, "4", "1")):
    show("kto", lambda x: kto(x, desirable, D(point), D("0.1"), D(weight)), D("2.5"))
