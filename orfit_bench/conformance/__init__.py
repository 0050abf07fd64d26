"""The conformance kit: is a learner what its declaration says?"""
